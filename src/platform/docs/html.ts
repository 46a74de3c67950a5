/** Plain text as HTML, for between tags; not for attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** Prose as HTML: plain text but for `code`, the one mark of Markdown that it may hold. */
export function proseHtml(text: string): string {
  return escapeHtml(text).replaceAll(/`([^`]*)`/g, '<code>$1</code>');
}
