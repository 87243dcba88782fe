// Asks the server that the page came from.

export const POLLING = 1000; // milliseconds between two looks whether a model is loaded
export const LOADING = 503;

async function ask(path, body, signal) {
  const options = body ? { method: "POST", body: JSON.stringify(body), signal } : { signal };
  const response = await fetch("v1/models" + path, options);
  const answer = await response.json();
  signal?.throwIfAborted();
  if (!response.ok) throw Object.assign(new Error(answer.error), { status: response.status });
  return answer;
}

// The names of the models, loaded or not yet.
export async function modelNames() {
  return Object.keys((await ask("")).models);
}

// A loaded model, with what its signatures take and give.
export class Model {
  constructor(name, signatures) {
    this.name = name;
    this.signatures = signatures;
    this.translates = "nbest" in signatures;
    const { inputs, outputs } = signatures.serving_default ?? { inputs: {}, outputs: {} };
    this.classifies = "label" in outputs;
    this.readsPairs = "second" in inputs;
  }

  // Once it is loaded; until then waiting(message) is told what the server says.
  static async load(name, signal, waiting) {
    for (;;) {
      try {
        const described = await ask(`/${encodeURIComponent(name)}/metadata`, null, signal);
        return new Model(name, described.metadata.signature_def.signature_def);
      } catch (error) {
        if (error.status !== LOADING) throw error;
        waiting(error.message);
      }
      await new Promise(resolve => setTimeout(resolve, POLLING));
    }
  }

  // From { input: text } to { output: value }, of one row.
  async predict(signature, texts, signal) {
    const inputs = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, [text]]));
    const body = { signature_name: signature, inputs };
    const { outputs } = await ask(`/${encodeURIComponent(this.name)}:predict`, body, signal);
    const names = Object.keys(this.signatures[signature].outputs);
    const byName = names.length === 1 ? { [names[0]]: outputs } : outputs;
    return Object.fromEntries(names.map(name => [name, byName[name][0]]));
  }
}
