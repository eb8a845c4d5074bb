// The page of `tokviz web`: a terminal, and what a terminal leaves to its browser.
import { FitAddon } from "./addon-fit.mjs";
import { Unicode11Addon } from "./addon-unicode11.mjs";
import { Terminal } from "./xterm.mjs";

const MAX_COLUMNS = 500;
const MAX_ROWS = 200;
const PART_BYTES = 1 << 18; // of what is typed or pasted, in one message
const FONT = '"tokviz mono"';

// What the app asks the browser for: the number of a control sequence that nobody else uses.
const ASK = 7767;

const element = (id) => document.getElementById(id);
const query = new URLSearchParams(location.search);
query.delete("token"); // It is used, and does not belong into the history.
history.replaceState(null, "", query.size ? `/?${query}` : "/");

const isLight = matchMedia("(prefers-color-scheme: light)").matches;
const terminal = new Terminal({
  allowProposedApi: true,
  fontFamily: `${FONT}, monospace`,
  fontSize: 15,
  macOptionIsMeta: true,
  scrollback: 0,
  theme: isLight
    ? { background: "#ffffff", foreground: "#1f2328" }
    : { background: "#111318", foreground: "#e6edf3" },
});
document.body.style.background = terminal.options.theme.background;

const fit = new FitAddon();
terminal.loadAddon(fit);
terminal.loadAddon(new Unicode11Addon());
terminal.unicode.activeVersion = "11";

// A terminal measures its font once, so that has to be there first.
await Promise.all(["", "bold "].map((weight) => document.fonts.load(`${weight}15px ${FONT}`)));
terminal.open(element("terminal"));

function fitted() {
  const size = fit.proposeDimensions() ?? { cols: 80, rows: 24 };
  return [Math.min(size.cols, MAX_COLUMNS), Math.min(size.rows, MAX_ROWS)];
}

terminal.resize(...fitted());
query.set("columns", terminal.cols);
query.set("rows", terminal.rows);
if (isLight) query.set("light", "1");

const socket = new WebSocket(`ws${location.protocol.slice(4)}//${location.host}/terminal?${query}`);
socket.binaryType = "arraybuffer";
socket.onmessage = ({ data }) => {
  if (typeof data === "string") download(JSON.parse(data));
  else terminal.write(new Uint8Array(data));
};
socket.onclose = ({ reason }) => notice(reason || "The connection is lost.");

function send(bytes) {
  for (let at = 0; at < bytes.length && socket.readyState === WebSocket.OPEN; at += PART_BYTES)
    socket.send(bytes.subarray(at, at + PART_BYTES));
}

const utf8 = new TextEncoder();
terminal.onData((text) => send(utf8.encode(text)));
terminal.onBinary((text) => send(Uint8Array.from(text, (char) => char.charCodeAt(0))));
terminal.onResize(({ cols, rows }) => {
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify([cols, rows]));
});
new ResizeObserver(() => terminal.resize(...fitted())).observe(element("terminal"));

// Ctrl+V is the browser's, which then tells what is on its clipboard.
terminal.attachCustomKeyEventHandler(
  ({ key, ctrlKey, metaKey, altKey }) => !((ctrlKey || metaKey) && !altKey && key === "v"),
);

// What the app itself has copied, it pastes exactly: no clipboard holds bytes that are no text.
// xterm.js would make CR of every line end. The marks of a paste must not be in what is pasted.
let copied;
function paste(text) {
  if (text === copied) send(utf8.encode("\x16"));
  else send(utf8.encode(`\x1b[200~${text.replaceAll("\x1b[201~", "")}\x1b[201~`));
}

element("terminal").addEventListener(
  "paste",
  (event) => {
    event.preventDefault();
    event.stopPropagation();
    paste(event.clipboardData.getData("text/plain"));
  },
  { capture: true },
);
element("terminal").addEventListener("contextmenu", (event) => event.preventDefault());

terminal.parser.registerOscHandler(52, (data) => {
  const bytes = Uint8Array.from(atob(data.split(";")[1]), (char) => char.charCodeAt(0));
  copied = new TextDecoder().decode(bytes);
  navigator.clipboard?.writeText(copied).catch(() => {});
  return true;
});

// Files: the app asks for one when it shows its dialog, and gets the name typed into that.
terminal.parser.registerOscHandler(ASK, () => {
  element("file").value = "";
  element("file").click();
  return true;
});
element("file").onchange = async () => {
  const [file] = element("file").files;
  const path = `/files/${encodeURIComponent(file.name)}`;
  const answer = await fetch(path, { method: "POST", body: file }).catch(() => null);
  if (!answer?.ok) return notice((await answer?.text()) ?? "The file could not be sent.", "Close");
  paste(await answer.json());
  send(utf8.encode("\r"));
  terminal.focus();
};

function download(name) {
  const link = document.createElement("a");
  link.href = `/files/${encodeURIComponent(name)}`;
  link.download = name;
  link.click();
}

function notice(text, button = "Start again") {
  element("notice").querySelector("p").textContent = text;
  element("notice").querySelector("button").textContent = button;
  element("notice").showModal();
}
element("notice").querySelector("button").onclick = () => {
  if (socket.readyState === WebSocket.CLOSED) location.reload();
  else element("notice").close();
};
terminal.focus();
