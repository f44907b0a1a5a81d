// Loads the data of the site: scripts in data/, each of which hands over one compressed object. Pages from a folder
// cannot fetch files, but they can load scripts.
"use strict";

window.debatebench = Object.assign(window.debatebench ?? {}, (() => {
  const folder = new URL("../data/", document.currentScript.src);
  const asked = new Map();
  const waiting = new Map();

  const bytesOf = (text) => {
    if (Uint8Array.fromBase64) {
      return Uint8Array.fromBase64(text);
    }
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let at = 0; at < binary.length; at += 1) {
      bytes[at] = binary.charCodeAt(at);
    }
    return bytes;
  };

  const unpacked = (text, as = "json") => {
    const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream)[as]();
  };

  // A promise of the object with a name, or of a "blob". It is asked for once, and again after a failure.
  const load = (name, as = "json") => {
    if (!asked.has(name)) {
      const found = new Promise((resolve, reject) => {
        waiting.set(name, (text) => resolve(unpacked(text, as)));
        const script = document.createElement("script");
        script.src = new URL(`${name}.js`, folder).href;
        script.addEventListener("error", () => {
          asked.delete(name);
          reject(new Error(`data/${name}.js cannot be loaded.`));
        });
        script.addEventListener("load", () => script.remove());
        document.head.append(script);
      });
      asked.set(name, found);
    }
    return asked.get(name);
  };

  // Called by the scripts in data/.
  const received = (name, text) => {
    waiting.get(name)?.(text);
    waiting.delete(name);
  };

  // A promise of the charts of this page, in their order, and of the rows of its sections as CSV.
  let unpacking = null;
  const figures = () => (unpacking ??= unpacked(document.getElementById("figures").textContent));

  return { load, received, unpacked, figures };
})());
