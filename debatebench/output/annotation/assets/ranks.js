// The places of four teams: says at once which teams have the same place, and what is wrong with that.

const form = document.getElementById("form");
const teams = [...(form?.querySelectorAll(".rank") ?? [])];
const said = document.getElementById("ranks-said");
const words = { 1: "first", 2: "second", 3: "third", 4: "fourth" };

function place(team) {
  return team.querySelector("input:checked")?.value ?? null;
}

function name(team) {
  return team.querySelector(".name").textContent;
}

function listed(names) {
  return names.length < 2 ? names.join("") : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

// Two teams may share the first place, because judges may name two equal winners; the second is free then.
function judge() {
  const at = (wanted) => teams.filter((team) => place(team) === wanted);
  const [first, second] = [at("1"), at("2")];
  const wrong = new Set();
  const sentences = [];
  for (const wanted of Object.keys(words)) {
    const sharing = at(wanted);
    if (sharing.length < 2 || (wanted === "1" && sharing.length === 2)) continue;
    for (const team of sharing) wrong.add(team);
    sentences.push(`${listed(sharing.map(name))} have the same place, ${words[wanted]}.`);
  }
  if (first.length === 2) {
    if (second.length) sentences.push("Where two teams share the first place, the others are third and fourth.");
    for (const team of second) wrong.add(team);
    if (!wrong.size) sentences.push(`${listed(first.map(name))} share the first place.`);
  }
  for (const team of teams) team.classList.toggle("is-wrong", wrong.has(team));
  said.classList.toggle("is-wrong", wrong.size > 0);
  const text = sentences.join(" ");
  // Said again only if it has changed.
  if (said.textContent !== text) said.textContent = text;
}

if (teams.length) {
  form.addEventListener("change", judge);
  form.addEventListener("filled", judge);
  judge();
}
