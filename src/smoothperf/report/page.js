"use strict";
// Moves the threshold: all numbers come from exact counts in the page, none from the network.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const {thresholds, tp, fp, positives, negatives, marks, low, high} = data;
  const all = positives + negatives;
  const slider = document.getElementById("threshold");
  const buttons = [...document.querySelectorAll("button[data-mark]")];
  const count = new Intl.NumberFormat("en-US");
  const share = (part, whole) => whole > 0 ? part / whole : NaN;
  const decimals = value => Number.isNaN(value) ? "\u2013" : value.toFixed(4);
  const put = (name, text) => document.querySelectorAll(`[data-show="${name}"]`).forEach(e => { e.textContent = text; });
  const move = (selector, left, bottom) => document.querySelectorAll(selector).forEach(e => {
    e.style.left = `${100 * left}%`;
    if (bottom !== undefined) e.style.bottom = `${100 * bottom}%`;
  });
  const place = score => Math.min(1, Math.max(0, (score - low) / (high - low)));

  function at(i) {
    const called = tp[i] + fp[i];
    return {
      precision: share(tp[i], called), recall: share(tp[i], positives), f1: share(2 * tp[i], called + positives),
      fpr: share(fp[i], negatives), accuracy: share(tp[i] + negatives - fp[i], all), rate: share(called, all),
    };
  }

  function show(i) {
    const m = at(i), called = tp[i] + fp[i], missed = positives - tp[i];
    const threshold = String(thresholds[i]).replace("-", "\u2212");
    put("threshold", threshold);
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
    move("#scores .now", place(thresholds[i]));
    buttons.forEach(b => b.setAttribute("aria-pressed", String(marks[b.dataset.mark] === i)));
  }

  function go(i) { slider.value = i; show(i); }

  // A click or a drag on a chart goes to the nearest cut.
  function pick(id, distance) {
    const plot = document.querySelector(`#${id} .plot`);
    const seek = event => {
      const box = plot.getBoundingClientRect();
      const x = (event.clientX - box.left) / box.width, y = 1 - (event.clientY - box.top) / box.height;
      let best = 0, least = Infinity;
      for (let i = 0; i < tp.length; i++) {
        const d = distance(i, x, y);
        if (d < least) { least = d; best = i; }
      }
      go(best);
    };
    plot.addEventListener("pointerdown", seek);
    plot.addEventListener("pointermove", event => { if (event.buttons & 1) seek(event); });
  }

  slider.addEventListener("input", () => show(Number(slider.value)));
  buttons.forEach(b => b.addEventListener("click", () => go(marks[b.dataset.mark])));
  pick("pr", (i, x, y) => Math.hypot(at(i).recall - x, (at(i).precision || 0) - y));
  pick("roc", (i, x, y) => Math.hypot(at(i).fpr - x, at(i).recall - y));
  pick("scores", (i, x) => Math.abs(place(thresholds[i]) - x));
  show(Number(slider.value));
})();
