// Keeps the parts of a page that say data-live as they are on the server: at once when a state changes, and every few
// seconds for what the windows hold. Without it the page is whole, and stands still.
(() => {
  "use strict";
  const note = document.getElementById("live");
  const parts = () => document.querySelectorAll("[data-live]");
  if (!parts().length || !window.EventSource) return;

  const every = 5000, least = 1000;
  const stale = document.getElementById("stale");
  let heard = new Date(), last = 0, waiting = 0, busy = false;

  async function renew() {
    waiting = 0;
    if (busy || document.hidden) return;
    busy = true;
    last = Date.now();
    try {
      const answer = await fetch(location.href, {
        headers: { Accept: "text/html" }, signal: AbortSignal.timeout(2 * every),
      });
      if (!answer.ok) throw new Error(String(answer.status));
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of parts()) {
        const now = page.querySelector(`[data-live="${part.dataset.live}"]`);
        if (!now || now.isEqualNode(part)) continue;
        const focus = part.contains(document.activeElement) && document.activeElement.getAttribute("href");
        const fresh = document.importNode(now, true);
        part.replaceWith(fresh);
        if (focus) fresh.querySelector(`a[href="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
      }
      heard = new Date();
      note.textContent = "live";
      stale.hidden = true;
    } catch {
      note.textContent = "";
      stale.textContent = "No answer since " + heard.toISOString().slice(11, 19) +
        " UTC: this page shows what was so then. Trying again.";
      stale.hidden = false;
    }
    busy = false;
  }

  function soon() {
    if (!waiting) waiting = setTimeout(renew, Math.max(0, last + least - Date.now()));
  }

  const circuit = document.body.querySelector("h1.circuit");
  const stream = new EventSource("/v1/stream" + (circuit ? "?match=" + encodeURIComponent(circuit.textContent) : ""));
  stream.addEventListener("transition", soon);
  stream.addEventListener("policies", soon);
  stream.onopen = () => { note.textContent = "live"; };
  stream.onerror = soon;
  document.addEventListener("visibilitychange", soon);
  setInterval(soon, every);
})();
