"""What a browser saw of a page."""

# Whether every picture can be seen: loaded, of some size and inside the page.
VISIBLE = """
(async () => {
  const wide = document.documentElement.clientWidth;
  const bad = [];
  document.querySelectorAll("details").forEach((more) => { more.open = true; });
  const load = (address) => new Promise((done) => {
    const probe = new Image();
    probe.onload = () => done(probe.naturalWidth > 0);
    probe.onerror = () => done(false);
    probe.src = address;
  });
  for (const image of document.querySelectorAll("img, svg image")) {
    const address = image.getAttribute("src") || image.getAttribute("href");
    if (!await load(address)) bad.push("not loaded: " + address.slice(0, 60));
  }
  const pictures = [...document.querySelectorAll("img, svg")];
  for (const picture of pictures) {
    const box = picture.getBoundingClientRect();
    const name = picture.getAttribute("aria-label") || picture.alt;
    if (!name) bad.push("no words for " + picture.outerHTML.slice(0, 60));
    if (box.width < 8 || box.height < 8) bad.push("too small: " + name);
    if (box.left < 0 || box.right > wide + 0.5) bad.push("outside the page: " + name);
  }
  for (const words of document.querySelectorAll("svg text")) {
    const box = words.getBoundingClientRect();
    const frame = words.ownerSVGElement.getBoundingClientRect();
    const out = Math.max(frame.left - box.left, box.right - frame.right,
                         frame.top - box.top, box.bottom - frame.bottom);
    if (out > 3) bad.push("cut off by " + out + ": " + words.textContent);
  }
  return {count: pictures.length, bad,
          overflow: document.documentElement.scrollWidth - wide};
})()
"""


def complaints(browser):
    """Errors and everything that was written to the console."""
    kinds = "Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"
    return [event["method"] for event in browser.events if event["method"] in kinds]


def requests(browser):
    """Everything that was asked for, save what the page itself contains."""
    asked = [
        event["params"]["request"]["url"]
        for event in browser.events
        if event["method"] == "Network.requestWillBeSent"
    ]
    return [url for url in asked if not url.startswith("data:")]
