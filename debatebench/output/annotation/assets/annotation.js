// Saves the form at every change, one request at a time, and says what was saved. Without an answer nothing counts as
// saved; the page asks again until there is one.
import { ranks } from "./ranks.js";

(() => {
  const form = document.getElementById("form");
  if (!form) return;
  const status = document.getElementById("status");
  const alert = document.getElementById("alert");
  const handIn = document.getElementById("hand-in");
  const reload = document.getElementById("reload");
  const text = form.elements.justification;
  const isReview = form.dataset.review === "yes";
  const pauseOfTyping = 400;
  const pauseOfRetry = 1000;
  const longestKept = 15000;

  let revision = Number(form.dataset.revision);
  let isStopped = false;
  let isFinishing = false;
  let saving = null;
  let timer = 0;
  let saved = JSON.stringify(read());

  function chosen(name) {
    const input = form.querySelector(`input[name="${CSS.escape(name)}"]:checked`);
    return input ? input.value : null;
  }

  function number(name) {
    const value = chosen(name);
    return value === null ? null : Number(value);
  }

  function read() {
    const scores = {};
    for (const group of form.querySelectorAll(".side")) {
      const place = group.dataset.question.lastIndexOf(".");
      const dimension = group.dataset.question.slice(0, place);
      const value = number(group.querySelector("input").name);
      if (value !== null) (scores[dimension] ??= {})[group.dataset.question.slice(place + 1)] = value;
    }
    const places = ranks();
    const outcome = places ? { ranks: places } : { winner: chosen("winner") };
    const value = { ...outcome, scores, justification: text.value || null };
    if (!isReview) {
      value.confidence = number("confidence");
      value.is_coherent = { true: true, false: false }[chosen("is_coherent")] ?? null;
    }
    return value;
  }

  function isChanged() {
    return JSON.stringify(read()) !== saved;
  }

  function say(words) {
    status.textContent = words;
  }

  function warn(words) {
    alert.textContent = words;
    alert.hidden = !words;
  }

  function stop(words) {
    isStopped = true;
    warn(words);
    say("Not saved.");
    reload.hidden = false;
    handIn.disabled = true;
  }

  // Returns the answer; null where there is none, or where the page can go on only after it is loaded again.
  async function send(action, value) {
    let answer, data;
    const body = JSON.stringify({ revision, form: value });
    try {
      answer = await fetch(`${form.dataset.api}/${action}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
        // The request goes on when the page is left; browsers refuse that for more than 64 KiB.
        keepalive: body.length < longestKept,
      });
      data = await answer.json().catch(() => ({}));
    } catch {
      return null;
    }
    if (answer.ok) {
      revision = data.revision;
      saved = JSON.stringify(value);
      return { isSaved: true, ...data };
    }
    if (answer.status === 409 || answer.status === 403 || answer.status === 404) {
      stop(data.message ?? "This address is no longer valid: the command was started again. Copy your reasons, and open the address that it has printed.");
      return null;
    }
    return { isSaved: false, ...data };
  }

  async function saveAll() {
    while (!isStopped && isChanged()) {
      say("Saving …");
      const answer = await send("draft", read());
      if (isStopped) return;
      if (answer === null) {
        say("Not saved: the server does not answer. The page tries again every second; keep it open.");
        await new Promise((done) => setTimeout(done, pauseOfRetry));
      } else if (!answer.isSaved) {
        warn(answer.message ?? "Not saved.");
        say("Not saved.");
        return;
      } else {
        warn("");
        say("Saved.");
      }
    }
  }

  function save() {
    clearTimeout(timer);
    saving ??= saveAll().finally(() => {
      saving = null;
    });
    return saving;
  }

  function mark(fields) {
    let first = null;
    for (const question of form.querySelectorAll("[data-question]")) {
      const isMissing = fields.includes(question.dataset.question);
      question.classList.toggle("is-missing", isMissing);
      if (isMissing) first ??= question;
    }
    first?.querySelector("input, textarea").focus();
  }

  async function finish() {
    if (isStopped || isFinishing) return;
    isFinishing = true;
    try {
      await save();
      if (isStopped || isChanged()) return;
      say("Saving …");
      const answer = await send("final", read());
      if (isStopped) return;
      if (answer === null) {
        say("Not handed in: the server does not answer.");
      } else if (!answer.isSaved) {
        say("Saved, but not handed in.");
        warn(answer.message ?? "Not handed in.");
        mark(answer.fields ?? []);
      } else {
        say("Done.");
        location.assign(answer.next ? `${form.dataset.root}/debate/${answer.next}` : `${form.dataset.root}/`);
      }
    } finally {
      isFinishing = false;
    }
  }

  form.addEventListener("change", save);
  text.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(save, pauseOfTyping);
    if (!isStopped) say("Saving …");
  });
  addEventListener("pagehide", save);
  addEventListener("beforeunload", (event) => {
    if (isChanged() && !isStopped) event.preventDefault();
  });
  // A page that the browser kept may be older than what another window has saved since.
  addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    finish();
  });
  reload.addEventListener("click", () => {
    isStopped = true;
    location.reload();
  });

  const letters = { y: "true", n: "false", p: "pro", c: "con", t: "tie", 0: "10" };

  addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      finish();
      return;
    }
    const at = event.target;
    if (event.ctrlKey || event.altKey || event.metaKey || !(at instanceof HTMLInputElement) || at.type !== "radio") return;
    // Inside a question only: keys of one character may mean something else to other programs everywhere else.
    const value = letters[event.key.toLowerCase()] ?? event.key;
    const wanted = form.querySelector(`input[name="${CSS.escape(at.name)}"][value="${CSS.escape(value)}"]`);
    if (wanted) {
      event.preventDefault();
      wanted.focus();
      if (!wanted.checked) wanted.click();
    }
  });
})();
