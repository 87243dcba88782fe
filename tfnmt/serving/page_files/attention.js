// Shows where a translator looked: words are shaded under the pointer, and a table has all weights.
import { element, percent } from "./elements.js";

// A table with a row for each word written and a column for each word read.
//   weights: [written][read]; look(i, j): called while the pointer is on a cell, with nulls when it has left.
export function attentionTable(target, source, weights, look) {
  const head = element("tr", {}, element("td"), ...source.map(word => element("th", { scope: "col" }, nameOf(word))));
  const rows = target.map((word, i) => {
    const cells = source.map((read, j) => {
      const shown = percent(weights[i][j]);
      const cell = element("td", { title: `${word.text} ← ${nameOf(read)}: ${shown}`,
        onpointerenter: () => look(i, j), onpointerleave: () => look(null, null) });
      cell.append(element("span", { class: "unseen" }, shown));
      return shaded(cell, weights[i][j]);
    });
    return element("tr", {}, element("th", { scope: "row" }, word.text), ...cells);
  });
  const caption = element("caption", {}, "Where it looked: a row for each word written, a column for each word read");
  return element("table", { class: "attention" }, caption, element("thead", {}, head), element("tbody", {}, ...rows));
}

// An element with so much colour, from 0 to 1.
export function shaded(made, weight) {
  made.style.setProperty("--weight", weight);
  return made;
}

function nameOf(word) {
  return word.isEnd ? "(end)" : word.text;
}
