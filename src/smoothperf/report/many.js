"use strict";
// Sorts the rows of the table by the column whose heading is pressed; pressed again, the other way round.
const table = document.getElementById("labels"), body = table.tBodies[0];
const headings = [...table.querySelectorAll("th button")];
function sortBy(place, falling) {
  const value = (row) => row.cells[place].dataset.value ?? row.cells[place].textContent;
  const compare = (a, b) => isNaN(a) || isNaN(b) ? String(a).localeCompare(String(b)) : a - b;
  const rows = [...body.rows].sort((a, b) => (falling ? -1 : 1) * compare(value(a), value(b)));
  body.append(...rows);
  headings.forEach((button, at) => button.setAttribute("aria-pressed", at === place));
}
headings.forEach((button, place) => {
  let falling = place > 0;
  button.addEventListener("click", () => { sortBy(place, falling); falling = !falling; });
});
// A link to a label opens it.
function open() {
  const found = document.getElementById(location.hash.slice(1));
  if (found && found.tagName === "DETAILS") found.open = true;
}
addEventListener("hashchange", open);
open();
