// One model and what it says of the texts.
import { Classification } from "./classification.js";
import { element } from "./elements.js";
import { Latest } from "./latest.js";
import { Model } from "./server.js";
import { Translation } from "./translation.js";

export class Pane {
  #asking = new Latest();
  #texts = [];

  constructor() {
    this.problem = element("p", { class: "problem", role: "alert" });
    this.content = element("div");
    this.element = element("section", { class: "pane" }, this.problem, this.content);
  }

  // Take the model of this name.
  choose(name) {
    const guarded = work => this.#guarded(work);
    return this.#guarded(async signal => {
      this.model = await Model.load(name, signal);
      this.view = this.model.translates
        ? new Translation(this.model, () => this.show(this.#texts), guarded)
        : new Classification(this.model);
      this.element.setAttribute("aria-label", name);
      this.content.replaceChildren(this.view.element);
    });
  }

  // Show what the model says of these texts, if no others come within so many milliseconds.
  show(texts, wait = 0) {
    this.#texts = texts;
    return this.#guarded(signal => this.view.show(texts, signal), wait);
  }

  // Do what is asked last, and tell what goes wrong.
  async #guarded(work, wait = 0) {
    this.element.setAttribute("aria-busy", "true");
    await this.#asking.run(async signal => {
      let problem = "";
      try {
        await work(signal);
      } catch (error) {
        if (signal.aborted) return;
        problem = error.message;
        this.view?.clear();
      }
      this.problem.textContent = problem;
      this.element.setAttribute("aria-busy", "false");
    }, wait);
  }
}
