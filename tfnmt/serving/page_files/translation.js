// What a translator says of a text: the translation, word by word, the n best, and where it looked.
import { alternativesOf, openMenu } from "./alternatives.js";
import { attentionTable, shaded } from "./attention.js";
import { element } from "./elements.js";
import { rove } from "./roving.js";
import { wordAttention, wordsOf } from "./words.js";

export class Translation {
  // again(): asks for what is shown to be shown again; guarded(work): does it, and tells what goes wrong.
  constructor(model, again, guarded) {
    Object.assign(this, { model, again, guarded, prefix: "" });
    this.source = element("p", { class: "source", role: "group", "aria-label": "What it read" });
    this.begins = element("p", { class: "note", hidden: true });
    this.unknown = element("p", { class: "note", hidden: true }, "Words underlined with dots are not in its vocabulary.");
    this.answer = element("p", { class: "answer", role: "group", "aria-label": "Translation" });
    this.status = element("p", { class: "unseen", role: "status" });
    this.more = element("div", { class: "columns" });
    this.element = element("div", {}, this.source, this.answer, this.begins, this.unknown, this.status, this.more);
  }

  async show([typed], signal) {
    const text = typed.normalize("NFC"); // as the model reads it
    if (text !== this.text) Object.assign(this, { prefix: "", isChosen: false }); // who types on keeps the focus
    this.text = text;
    if (!text.trim()) return this.clear();
    const found = await this.#translate(text, signal);
    const translation = found.translations[0];
    const target = wordsOf(translation, (found.target_words ?? []).filter(Boolean));
    const source = wordsOf(text, (found.source_words ?? []).filter(Boolean), found.source_written);
    const weights = found.attention && wordAttention(found.attention, target, source);
    this.status.textContent = translation;
    this.#showWords(translation, target, source, weights);
    this.#showBeginning();
    if (this.isChosen) this.#focusAfterPrefix(target);
    this.more.replaceChildren(bestTable(found.translations, found.scores),
      ...(weights ? [scrolling(attentionTable(target, source, weights, (i, j) => this.#shade(weights, i, j)))] : []));
  }

  clear() {
    for (const each of [this.source, this.answer, this.status, this.more]) each.replaceChildren();
    this.prefix = "";
    this.#showBeginning();
    this.unknown.hidden = true;
  }

  // Models that were exported by earlier versions have no signature "complete".
  async #translate(text, signal) {
    const { model, prefix } = this;
    if (model.signatures.complete) return model.predict("complete", { text, prefix }, signal);
    const align = model.signatures.align ? model.predict("align", { text }, signal) : {};
    return { ...(await align), ...(await model.predict("nbest", { text }, signal)) };
  }

  #showWords(translation, target, source, weights) {
    this.unknown.hidden = ![...source, ...target].some(word => word.unknown);
    const read = source.map((word, j) => element("span", {
      class: word.unknown ? "word unknown" : "word", title: word.unknown && "not in the vocabulary",
      onpointerenter: () => this.#shade(weights, null, j), onpointerleave: () => this.#shade(weights, null, null),
    }, word.isEnd ? "(end)" : word.text));
    this.readWords = read;
    this.source.replaceChildren(...withGaps(this.text, source, read));
    this.writtenWords = target.map((word, i) => this.#button(translation, word, i, source, weights));
    if (!target.length) this.answer.replaceChildren(translation);
    else this.answer.replaceChildren(...withGaps(translation, target, this.writtenWords));
    rove(this.answer, this.writtenWords);
  }

  // A word of the translation. An unknown one is shown as the word is written that it looked at most.
  #button(translation, word, i, source, weights) {
    const copied = word.text === "<unk>" && weights && source[mostOf(weights[i], source)];
    const button = element("button", {
      type: "button", class: word.unknown ? "word unknown" : "word",
      title: word.unknown ? "an unknown word" : null,
      "aria-haspopup": this.model.signatures.alternatives ? "menu" : null, "aria-expanded": "false",
      onpointerenter: () => this.#shade(weights, i, null), onpointerleave: () => this.#shade(weights, null, null),
      onfocus: () => this.#shade(weights, i, null), onblur: () => this.#shade(weights, null, null),
      onclick: () => this.guarded(signal => this.#ask(button, translation.slice(0, word.start).trimEnd(), signal)),
    }, copied ? copied.text : word.text);
    return button;
  }

  // Asks what else may follow the prefix.
  async #ask(button, prefix, signal) {
    if (!this.model.signatures.alternatives) return;
    const found = await this.model.predict("alternatives", { text: this.text, prefix }, signal);
    if (button.isConnected) openMenu(button, alternativesOf(found, prefix), ({ upToIt }) => {
      this.prefix = upToIt;
      this.isChosen = true;
      this.again();
    });
  }

  // What had the focus when the user chose is gone: the first word after the choice gets it, or else the last one.
  #focusAfterPrefix(target) {
    this.isChosen = false;
    const next = target.findIndex(word => word.start >= this.prefix.length);
    this.writtenWords.at(next)?.focus();
  }

  #showBeginning() {
    this.begins.hidden = !this.prefix;
    const release = () => {
      this.prefix = "";
      this.isChosen = true;
      this.again();
    };
    this.begins.replaceChildren(`Begins with “${this.prefix}” as you chose. `,
      element("button", { type: "button", onclick: release }, "Let it choose"));
  }

  // Shades what word i written looked at, what looked at word j read, or of both the two.
  #shade(weights, i, j) {
    if (!weights) return;
    this.readWords.forEach((word, at) => shaded(word, i === null || (j !== null && j !== at) ? 0 : weights[i][at]));
    this.writtenWords.forEach((word, at) => shaded(word, j === null || (i !== null && i !== at) ? 0 : weights[at][j]));
  }
}

function bestTable(texts, scores) {
  const rows = texts.map((text, i) => ({ text, score: scores[i] })).filter(({ text }, i) => i === 0 || text);
  const caption = element("caption", {}, "The best of the search, with their scores");
  return element("table", { class: "nbest" }, caption, ...rows.map(({ text, score }) => element("tr", {},
    element("td", { class: "score" }, score.toFixed(3).replace("-", "−")), element("td", {}, text))));
}

function scrolling(table) {
  return element("div", { class: "scrolling", tabindex: 0, role: "region", "aria-label": "Attention" }, table);
}

// The words' elements with what lies between them in the text.
function withGaps(text, words, elements) {
  return words.flatMap((word, i) => [word.isEnd ? " " : text.slice(words[i - 1]?.end ?? 0, word.start), elements[i]]);
}

function mostOf(weights, source) {
  const ofWords = weights.map((weight, j) => source[j].isEnd ? -1 : weight);
  return ofWords.indexOf(Math.max(...ofWords));
}
