// Searches the sections of the guides, and the classes of the Javadoc's own index.
const home = document.body.dataset.home;
const field = document.getElementById("search");
const found = document.getElementById("found");
const MOST = 20;
var typeSearchIndex = []; // set by the Javadoc's index, which then calls updateSearchResults

function updateSearchResults() {}

function classes(words) {
  return typeSearchIndex
    .filter((type) => type.p && words.every((word) => type.l.toLowerCase().includes(word)))
    .map((type) => ({
      rank: type.l.toLowerCase() === words.join(" ") ? 0 : 2,
      title: type.l,
      page: type.p,
      text: "",
      url: `api/io.torchfeed/${type.p.replaceAll(".", "/")}/${type.l}.html`,
    }));
}

function guides(words) {
  const has = (text) => words.every((word) => text.toLowerCase().includes(word));
  return sections
    .filter((section) => has(`${section.title} ${section.text}`))
    .map((section) => ({ ...section, rank: has(section.title) ? 1 : 3 }));
}

function excerpt(text, word) {
  const at = Math.max(0, text.toLowerCase().indexOf(word) - 60);
  return (at > 0 ? "... " : "") + text.slice(at, at + 180);
}

function search() {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = words.length === 0 ? [] : [...classes(words), ...guides(words)];
  hits.sort((a, b) => a.rank - b.rank);
  found.replaceChildren(
    ...hits.slice(0, MOST).map((hit) => {
      const link = Object.assign(document.createElement("a"), { href: home + hit.url });
      link.textContent = hit.title === hit.page ? hit.title : `${hit.title} - ${hit.page}`;
      const text = document.createElement("small");
      text.textContent = excerpt(hit.text, words[0]);
      const item = document.createElement("li");
      item.append(link, text);
      return item;
    }),
  );
  if (words.length > 0 && hits.length === 0) {
    found.textContent = "Nothing found.";
  }
  found.hidden = words.length === 0;
}

field.addEventListener("input", search);
const asked = new URLSearchParams(location.search).get("q"); // a search as a link: index.html?q=sampler
if (asked) {
  field.value = asked;
  window.addEventListener("load", search);
}
