// One model and what it says of the texts.
import { Classification } from "./classification.js";
import { element } from "./elements.js";
import { Latest } from "./latest.js";
import { Model } from "./server.js";
import { Translation } from "./translation.js";

export class Pane {
  #showing = new Latest();
  #asking = new Latest();
  #texts = [];

  constructor() {
    this.title = element("h2", { class: "title" });
    this.problem = element("p", { class: "problem", role: "alert" });
    this.content = element("div");
    this.element = element("section", { class: "pane" }, this.title, this.problem, this.content);
  }

  // Take the model of this name, once it is loaded.
  choose(name) {
    return this.#guarded(this.#showing, async signal => {
      this.model = this.view = null;
      this.content.replaceChildren();
      this.title.textContent = name;
      this.element.setAttribute("aria-label", name);
      this.model = await Model.load(name, signal, message => this.problem.textContent = message);
      this.view = this.#viewOf(this.model);
      this.content.replaceChildren(this.view.element);
    });
  }

  // Show what the model says of these texts, if no others come within so many milliseconds.
  async show(texts, wait = 0) {
    this.#texts = texts;
    if (!this.view) return;
    await this.#guarded(this.#showing, signal => this.view.show(texts, signal).catch(error => {
      if (!signal.aborted) this.view.clear();
      throw error;
    }), wait);
  }

  #viewOf(model) {
    if (model.translates) {
      return new Translation(model, () => this.show(this.#texts), work => this.#guarded(this.#asking, work));
    }
    if (model.classifies) return new Classification(model);
    throw new Error("This model is neither a translator nor a classifier, and the page shows no others.");
  }

  // Do what is asked last, and tell what goes wrong.
  async #guarded(latest, work, wait = 0) {
    this.element.setAttribute("aria-busy", "true");
    await latest.run(async signal => {
      let problem = "";
      try {
        await work(signal);
      } catch (error) {
        if (signal.aborted) return;
        problem = error.message;
      }
      this.problem.textContent = problem;
      this.element.setAttribute("aria-busy", "false");
    }, wait);
  }
}
