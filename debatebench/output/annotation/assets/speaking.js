// Reading aloud: the browser's own speech synthesis reads the speeches, paragraph by paragraph. Only voices of the device
// are used: others send the text to a server. It is off until a person opens it, and hidden where a browser has none.

const panel = document.getElementById("aloud");
const synthesis = window.speechSynthesis;
if (panel && synthesis && window.SpeechSynthesisUtterance) begin();

function begin() {
  const play = document.getElementById("play");
  const stop = document.getElementById("stop");
  const speed = document.getElementById("speed");
  const status = document.getElementById("aloud-status");
  const speeches = [...document.querySelectorAll(".speech")];
  const texts = speeches.map((speech) => paragraphs(speech.querySelector(".text")));
  // The utterance that is being read; events of any other one are late.
  let utterance = null;
  let isPaused = false;
  let at = { speech: 0, paragraph: 0 };

  // Where each paragraph of a speech is in its text.
  function paragraphs(element) {
    const node = element?.firstChild;
    if (!node) return [];
    return [...node.data.matchAll(/\S(?:.|\n(?![^\S\n]*\n))*/gu)].map((match) => ({
      node,
      lang: element.lang,
      start: match.index,
      end: match.index + match[0].length,
      text: match[0],
    }));
  }

  function local() {
    return synthesis.getVoices().filter((voice) => voice.localService);
  }

  // A voice of the device for a language, whichever country it is from; any of them where the language is not known.
  function voiceFor(lang) {
    const voices = local();
    const wanted = lang.toLowerCase();
    const language = (voice) => voice.lang.toLowerCase().replaceAll("_", "-");
    const same = (voice) => language(voice).split("-")[0] === wanted.split("-")[0];
    if (wanted) return voices.find((voice) => language(voice) === wanted) ?? voices.find(same);
    return voices.find((voice) => voice.default) ?? voices[0];
  }

  function mark(paragraph) {
    if (!window.Highlight || !CSS.highlights) return;
    CSS.highlights.delete("aloud");
    if (!paragraph) return;
    const range = new Range();
    range.setStart(paragraph.node, paragraph.start);
    range.setEnd(paragraph.node, paragraph.end);
    CSS.highlights.set("aloud", new Highlight(range));
  }

  function show(words) {
    play.textContent = utterance && !isPaused ? "Pause" : utterance ? "Go on" : "Play";
    stop.disabled = !utterance;
    panel.classList.toggle("is-on", Boolean(utterance));
    status.textContent = words;
  }

  function offer() {
    play.disabled = local().length === 0;
    if (utterance) return;
    show(play.disabled ? "This device has no voice of its own. Voices that send the text to a server are not used." : "");
  }

  function end(words = "") {
    utterance = null;
    isPaused = false;
    synthesis.cancel();
    mark(null);
    show(words);
  }

  function where() {
    return `Speech ${at.speech + 1} of ${speeches.length}, paragraph ${at.paragraph + 1} of ${texts[at.speech].length}`;
  }

  function read() {
    while (at.speech < texts.length && at.paragraph >= texts[at.speech].length) at = { speech: at.speech + 1, paragraph: 0 };
    const paragraph = texts[at.speech]?.[at.paragraph];
    if (!paragraph) return end("All speeches have been read.");
    const voice = voiceFor(paragraph.lang);
    if (!voice) return end(`This device has no voice of its own for the language ${paragraph.lang}.`);
    const own = new SpeechSynthesisUtterance(paragraph.text);
    Object.assign(own, { voice, lang: voice.lang, rate: Number(speed.value) });
    own.addEventListener("end", () => {
      if (own !== utterance) return;
      at.paragraph += 1;
      read();
    });
    own.addEventListener("error", (event) => {
      if (own === utterance) end(`The browser could not go on reading: ${event.error}.`);
    });
    utterance = own;
    mark(paragraph);
    show(where());
    synthesis.speak(own);
  }

  function playOrPause() {
    if (play.disabled) return;
    if (!utterance) {
      const links = [...document.querySelectorAll("#contents a")];
      at = { speech: Math.max(0, links.findIndex((link) => link.ariaCurrent)), paragraph: 0 };
      synthesis.cancel();
      read();
      return;
    }
    isPaused = !isPaused;
    if (isPaused) synthesis.pause();
    else synthesis.resume();
    show(isPaused ? `${where()}, paused` : where());
  }

  play.addEventListener("click", playOrPause);
  stop.addEventListener("click", () => {
    end();
    play.focus();
  });
  // The new speed begins with the paragraph that is being read.
  speed.addEventListener("change", () => {
    if (!utterance) return;
    const wasPaused = isPaused;
    utterance = null;
    isPaused = false;
    synthesis.cancel();
    read();
    if (wasPaused && utterance) playOrPause();
  });
  panel.addEventListener("toggle", () => {
    if (!panel.open && utterance) end();
  });
  addEventListener("keydown", (event) => {
    if (!event.altKey || event.ctrlKey || event.metaKey || event.code !== "KeyP") return;
    if (document.querySelector("dialog[open]")) return;
    event.preventDefault();
    if (event.shiftKey) {
      if (utterance) end();
      return;
    }
    panel.open = true;
    playOrPause();
  });
  addEventListener("pagehide", () => synthesis.cancel());
  synthesis.addEventListener?.("voiceschanged", offer);
  panel.hidden = false;
  for (const line of document.querySelectorAll(".of-aloud")) line.hidden = false;
  offer();
}
