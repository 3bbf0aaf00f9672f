// The reader's system decides, until the button says otherwise; the players follow (they know JupyterLab's attribute).
{
  const root = document.documentElement, system = matchMedia("(prefers-color-scheme: dark)");
  const read = () => { try { return localStorage.getItem("minidecoder-theme"); } catch { return null; } };
  const keep = (theme) => { try { localStorage.setItem("minidecoder-theme", theme); } catch { /* a private window */ } };
  const show = (theme) => {
    root.dataset.theme = theme;
    document.body.dataset.jpThemeLight = String(theme === "light");
    const button = document.querySelector(".bar .theme");
    if (button) Object.assign(button, { hidden: false, textContent: theme === "light" ? "☾ dark" : "☀ light" });
  };
  const wanted = () => read() ?? (system.matches ? "dark" : "light");
  // What is wider than its box scrolls by key, too.
  const reach = () => { for (const box of document.querySelectorAll("pre, .wide, .shot")) box.tabIndex = box.scrollWidth > box.clientWidth ? 0 : -1; };
  show(wanted());
  system.addEventListener("change", () => show(wanted()));
  document.addEventListener("DOMContentLoaded", () => {
    show(wanted());
    document.querySelector(".bar .theme").addEventListener("click", () => {
      const theme = root.dataset.theme === "light" ? "dark" : "light";
      keep(theme);
      show(theme);
    });
    reach();
    addEventListener("resize", reach);
    const contents = document.querySelector("details.contents");
    if (contents && matchMedia("(min-width: 1100px)").matches) contents.open = true;
  });
}
