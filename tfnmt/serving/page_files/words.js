// From a model's tokens to the words that a reader sees.

export const UNKNOWN = "<unk>";
const END = "</s>", WORD_MARK = "▁";
// A word with its apostrophes and hyphens, a number with its separators, or any other character.
const WORD = /<unk>|[\p{L}\p{M}\p{N}]+(?:['’.,:-][\p{L}\p{M}\p{N}]+)*|\S/gu;

// Words { text, start, end, tokens, unknown }: where each lies in the text, and which tokens it has, by index.
//   text: what the tokens are of.
//   tokens: as the model names them: "▁" begins a word, unless no token has it: then each is a word of its own.
//   written: what the text has for each token, if that is known.
export function wordsOf(text, tokens, written = tokens.map(token => token.replaceAll(WORD_MARK, ""))) {
  const subwords = tokens.some(token => token.startsWith(WORD_MARK)), words = [];
  rangesOf(text, written.slice(0, tokens.length)).forEach(({ start, end }, i) => {
    const token = tokens[i], last = words.at(-1);
    if (token === END) return;
    if (subwords && last && last.end === start) last.end = end;
    else words.push({ start, end, tokens: [], unknown: false });
    const word = words.at(-1);
    word.tokens.push(i);
    word.unknown ||= token === UNKNOWN;
  });
  words.forEach(word => word.text = text.slice(word.start, word.end));
  const atEnd = tokens.indexOf(END);
  if (atEnd >= 0) words.push({ text: "end", start: text.length, end: text.length, tokens: [atEnd], unknown: false, isEnd: true });
  return words;
}

// Where each piece lies; what is not found lies in the gap between its neighbours.
function rangesOf(text, pieces) {
  const folded = lowered(text), ranges = [];
  let at = 0;
  for (const piece of pieces) {
    const start = folded.indexOf(lowered(piece), at);
    if (start < 0) {
      ranges.push(null);
      continue;
    }
    const begin = piece ? start : at + text.slice(at).search(/\S|$/);
    at = begin + piece.length;
    ranges.push({ start: begin, end: at });
  }
  return ranges.map((range, i) => {
    if (range) return range;
    const before = ranges.slice(0, i).findLast(Boolean)?.end ?? 0;
    const after = ranges.slice(i + 1).find(Boolean)?.start ?? text.length;
    const gap = text.slice(before, after);
    return { start: before + gap.search(/\S|$/), end: before + gap.trimEnd().length };
  });
}

// In lower case, and as long as it was: "İ" would become two characters.
function lowered(text) {
  return [...text].map(c => c.toLowerCase().length === c.length ? c.toLowerCase() : c).join("");
}

// The word of a translation that follows so many others, and all up to its end.
export function wordAfter(text, prefix) {
  const found = [...text.matchAll(WORD)][[...prefix.matchAll(WORD)].length];
  return found ? { word: found[0], upToIt: text.slice(0, found.index + found[0].length) } : null;
}

// Attention between tokens → between words: of the tokens read the sum, of those written the mean.
export function wordAttention(attention, target, source) {
  const sum = numbers => numbers.reduce((a, b) => a + b, 0);
  return target.map(written => source.map(read =>
    sum(written.tokens.map(i => sum(read.tokens.map(j => attention[i][j])))) / written.tokens.length));
}
