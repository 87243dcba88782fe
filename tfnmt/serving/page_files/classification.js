// What a classifier says of a text or two: the label, the probabilities of all, and the trees.
import { readBrackets } from "./brackets.js";
import { element, percent } from "./elements.js";
import { makePlayer } from "./player.js";
import { UNKNOWN } from "./words.js";

const PLACES = [" of the first text", " of the second text"];

export class Classification {
  constructor(model) {
    this.model = model;
    this.answer = element("p", { class: "answer", role: "status" });
    this.unknown = element("p", { class: "note", hidden: true });
    this.more = element("div");
    this.element = element("div", {}, this.answer, this.unknown, this.more);
  }

  async show(texts, signal) {
    const names = Object.keys(this.model.signatures.serving_default.inputs).sort();
    const own = texts.slice(0, names.length);
    if (own.some(text => !text.trim())) return this.clear();
    const inputs = Object.fromEntries(names.map((name, i) => [name, own[i]]));
    const asked = [
      this.model.predict("serving_default", inputs, signal),
      Promise.all(own.map(text => this.#unknownWords(text, signal))),
      ...own.map((text, i) => this.#parse(text, own.length > 1 ? PLACES[i] : "", signal)),
    ];
    const [{ label, classes, probabilities }, unknown, ...parses] = await Promise.all(asked);
    this.answer.textContent = label;
    this.#showUnknown(unknown.flat());
    const players = element("div", { class: "players" }, ...parses);
    this.more.replaceChildren(probabilityTable(classes, probabilities), players);
  }

  clear() {
    this.answer.textContent = "";
    this.more.replaceChildren();
    this.#showUnknown([]);
  }

  // Models that were exported by earlier versions have no signature "words".
  async #unknownWords(text, signal) {
    if (!this.model.signatures.words) return [];
    const { words, written } = await this.model.predict("words", { text }, signal);
    return written.filter((_, i) => words[i] === UNKNOWN);
  }

  #showUnknown(words) {
    this.unknown.hidden = !words.length;
    this.unknown.textContent = `Not in its vocabulary: ${[...new Set(words)].join(" ")}`;
  }

  // A player of the tree that the model made, or was given; null if there is none.
  async #parse(text, place, signal) {
    if (!this.model.signatures.parse) {
      const parse = text.includes("(") ? readBrackets(text) : null;
      return parse && makePlayer(`The tree that it was given${place}`, parse, null);
    }
    const { brackets, reduce_probabilities: probabilities } = await this.model.predict("parse", { text }, signal);
    const parse = readBrackets(brackets);
    return parse && makePlayer(`The tree that it made${place}`, parse, probabilities ?? null);
  }
}

function probabilityTable(classes, probabilities) {
  const rows = classes.map((name, i) => {
    const bar = element("span", { class: "bar" });
    bar.style.setProperty("--probability", probabilities[i]);
    return element("tr", {}, element("th", { scope: "row" }, name),
      element("td", { class: "score" }, percent(probabilities[i])), element("td", { class: "bars" }, bar));
  });
  return element("table", { class: "probabilities" }, element("caption", {}, "Probabilities"), ...rows);
}
