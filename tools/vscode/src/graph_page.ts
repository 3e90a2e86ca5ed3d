// The document of the graph's webview: a frame with the page of the server.

/** HTML text in which a value may appear between double quotes. */
function escapeAttribute(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/**
 * The address of the page as the editor reaches it: `address` with the host of `external`. Only the
 * origin is resolved, because URIs of VS Code change the escapes of a fragment.
 */
export function reachableAddress(address: string, external: string): string {
  const { pathname, search, hash } = new URL(address);
  return new URL(external).origin + pathname + search + hash;
}

/**
 * The document. Its script passes on what the page posts, which nothing but the page can: the
 * message must come from the frame and from the page's origin.
 */
export function graphDocument(address: string, nonce: string): string {
  const { origin } = new URL(address);
  const policy = `default-src 'none'; frame-src ${origin}; script-src 'nonce-${nonce}'; style-src 'nonce-${nonce}'`;
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${escapeAttribute(policy)}">
<style nonce="${nonce}">
html, body, iframe { width: 100%; height: 100%; margin: 0; padding: 0; border: 0; display: block; overflow: hidden; }
/* The page follows the colours of the editor. */
body.vscode-light, body.vscode-high-contrast-light { color-scheme: light; }
body.vscode-dark, body.vscode-high-contrast { color-scheme: dark; }
</style>
</head>
<body>
<iframe title="Graph" src="${escapeAttribute(address)}" allow="clipboard-read; clipboard-write"></iframe>
<script nonce="${nonce}">
const editor = acquireVsCodeApi();
const frame = document.querySelector('iframe');
window.addEventListener('message', ({ source, origin, data }) => {
  if (source === frame.contentWindow && origin === ${JSON.stringify(origin)}) editor.postMessage(data);
});
</script>
</body>
</html>
`;
}
