"use strict";
// Moves the threshold: all numbers come from exact counts in the page, none from the network.
// Cut i has the i-th highest threshold: cut 0 calls nothing positive, the last one everything.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const {thresholds, intercept, rawInstead, tp, fp, positives, negatives, marks, low, high, lowestRate} = data;
  const all = positives + negatives, last = tp.length - 1;
  const slider = document.getElementById("threshold"), exact = document.getElementById("exact");
  const aim = document.getElementById("aim");
  const buttons = [...document.querySelectorAll("button[data-mark]")];
  const goalButtons = [...document.querySelectorAll("button[data-goal]")];
  const count = new Intl.NumberFormat("en-US");
  const share = (part, whole) => whole > 0 ? part / whole : NaN;
  const decimals = value => Number.isNaN(value) ? "\u2013" : value.toFixed(4);
  const put = (name, text) => document.querySelectorAll(`[data-show="${name}"]`).forEach(e => { e.textContent = text; });
  const move = (selector, left, bottom) => document.querySelectorAll(selector).forEach(e => {
    e.style.left = `${100 * left}%`;
    if (bottom !== undefined) e.style.bottom = `${100 * bottom}%`;
  });
  const place = score => Math.min(1, Math.max(0, (score - low) / (high - low)));
  const logPlace = rate => 1 - Math.log(Math.max(rate, lowestRate)) / Math.log(lowestRate);

  function at(i) {
    const called = tp[i] + fp[i];
    return {
      precision: share(tp[i], called), recall: share(tp[i], positives), f1: share(2 * tp[i], called + positives),
      fpr: share(fp[i], negatives), accuracy: share(tp[i] + negatives - fp[i], all), rate: share(called, all),
    };
  }

  function show(i) {
    const m = at(i), called = tp[i] + fp[i], missed = positives - tp[i];
    exact.value = thresholds[i];
    put("threshold", String(thresholds[i])); put("raw", String(rawInstead[i] ?? thresholds[i] - intercept));
    put("tp", count.format(tp[i])); put("fp", count.format(fp[i]));
    put("fn", count.format(missed)); put("tn", count.format(negatives - fp[i]));
    put("called", count.format(called)); put("rest", count.format(all - called));
    for (const name in m) {
      put(name, decimals(m[name]));
      document.querySelectorAll(`[data-bar="${name}"]`).forEach(e => { e.style.width = `${100 * (m[name] || 0)}%`; });
    }
    put("sentence", `${count.format(called)} of ${count.format(all)} are called positive, ${count.format(tp[i])} of ` +
      `them rightly; ${count.format(missed)} of ${count.format(positives)} positives are missed.`);
    slider.setAttribute("aria-valuetext",
      `threshold ${thresholds[i]}, precision ${decimals(m.precision)}, recall ${decimals(m.recall)}`);
    move("#pr .now", m.recall, m.precision || 0);
    move("#roc .now", m.fpr, m.recall);
    move("#roc-log .now", logPlace(m.fpr), m.recall);
    move("#scores .now", place(thresholds[i]));
    buttons.forEach(b => b.setAttribute("aria-pressed", String(marks[b.dataset.mark] === i)));
  }

  function go(i) { slider.value = last - i; show(i); }
  function leave() { pursue(null); }  // whoever moves the threshold by hand has no goal any more

  // The best cut that meets a goal, as set_operating_point chooses it; -1 if none does.
  const little = 1e-12;
  const best = {
    precision: v => tp.findLastIndex((_, i) => at(i).precision >= v * (1 - little)),
    recall: v => tp.findIndex((_, i) => at(i).recall >= v * (1 - little)),
    fpr: v => tp.findLastIndex((_, i) => at(i).fpr <= v * (1 + little)),
    k: v => tp.findLastIndex((_, i) => tp[i] + fp[i] <= v),
  };

  // The goal whose button is pressed takes its number from the box.
  function pursue(name) {
    goalButtons.forEach(b => b.setAttribute("aria-pressed", String(b.dataset.goal === name)));
    aim.parentElement.hidden = name === null;
    document.querySelectorAll("[data-promise]").forEach(e => {
      e.hidden = name === null || (e.dataset.promise === "k") !== (name === "k");
    });
    put("missed", "");
    if (name === null) return;
    const words = goalButtons.find(b => b.dataset.goal === name).textContent;
    const value = name === "k" ? Math.floor(aim.valueAsNumber) : aim.valueAsNumber;
    put("goal", words);
    put("asked", `${name}=${value}`);
    if (!(value > 0) || (name !== "k" && value > 1)) {
      put("missed", name === "k" ? "k is a whole number of at least 1." : "It is a share: above 0 and not above 1.");
      return;
    }
    const i = best[name](value);
    if (i < 0 || (name === "k" && i === 0)) {
      const most = Math.max(...tp.map((_, j) => at(j).precision || 0));
      put("missed", name === "k" ? "More than k share the highest score." :
        `No threshold does that here: the highest precision is ${decimals(most)}.`);
      return;
    }
    go(i);
  }

  // A click or a drag on a chart goes to the nearest cut.
  function nearest(distance) {
    let found = 0, least = Infinity;
    for (let i = 0; i <= last; i++) {
      const d = distance(i);
      if (d < least) { least = d; found = i; }
    }
    return found;
  }
  function pick(id, distance) {
    const plot = document.querySelector(`#${id} .plot`);
    const seek = event => {
      const box = plot.getBoundingClientRect();
      const x = (event.clientX - box.left) / box.width, y = 1 - (event.clientY - box.top) / box.height;
      leave();
      go(nearest(i => distance(i, x, y)));
    };
    plot.addEventListener("pointerdown", seek);
    plot.addEventListener("pointermove", event => { if (event.buttons & 1) seek(event); });
  }

  slider.addEventListener("input", () => { leave(); show(last - Number(slider.value)); });
  exact.addEventListener("change", () => {
    leave();
    const wanted = exact.valueAsNumber;
    go(Number.isNaN(wanted) ? marks.operating : nearest(i => Math.abs(thresholds[i] - wanted)));
  });
  buttons.forEach(b => b.addEventListener("click", () => { leave(); go(marks[b.dataset.mark]); }));
  goalButtons.forEach(b => b.addEventListener("click", () => {
    aim.value = b.dataset.aim;
    aim.step = b.dataset.goal === "k" ? "1" : "0.01";
    pursue(b.dataset.goal);
  }));
  aim.addEventListener("input", () => {
    const pressed = goalButtons.find(b => b.getAttribute("aria-pressed") === "true");
    pressed.dataset.aim = aim.value;
    pursue(pressed.dataset.goal);
  });
  pick("pr", (i, x, y) => Math.hypot(at(i).recall - x, (at(i).precision || 0) - y));
  pick("roc", (i, x, y) => Math.hypot(at(i).fpr - x, at(i).recall - y));
  pick("roc-log", (i, x, y) => Math.hypot(logPlace(at(i).fpr) - x, at(i).recall - y));
  pick("scores", (i, x) => Math.abs(place(thresholds[i]) - x));
  // What a column adds where the pointer is.
  document.querySelectorAll("[data-shape]").forEach(card => {
    const {x, y, half} = data.shapes[card.dataset.shape], plot = card.querySelector(".plot");
    const readout = card.querySelector(".readout"), spread = readout.textContent;
    plot.addEventListener("pointermove", event => {
      const box = plot.getBoundingClientRect();
      const at = x[0] + (x[x.length - 1] - x[0]) * Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
      const i = Math.max(1, x.findIndex(place => place >= at));
      const share = x[i] > x[i - 1] ? (at - x[i - 1]) / (x[i] - x[i - 1]) : 1;
      const between = values => values[i - 1] + share * (values[i] - values[i - 1]);
      const added = between(y), band = half.length ? ` \u00b1 ${between(half).toPrecision(2)}` : "";
      readout.textContent =
        `at ${Number(at.toPrecision(4))}: ${added < 0 ? "\u2212" : "+"}${Math.abs(added).toPrecision(3)}${band}`;
    });
    plot.addEventListener("pointerleave", () => { readout.textContent = spread; });
  });
  document.querySelector(".goals").hidden = false;
  show(last - Number(slider.value));
})();
