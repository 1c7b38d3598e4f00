/** The element of a page that its script needs. @throws Error if it is not there */
export function find<T extends Element>(within: ParentNode, selector: string, type: new () => T): T {
  const element = within.querySelector(selector);
  if (!(element instanceof type)) throw new Error(`The page has no ${selector}.`);
  return element;
}

/** Shows a verdict: its kind (`good`, `bad` or nothing), a title and some lines. */
export function showVerdict(verdict: HTMLElement, kind: string, title: string, ...lines: string[]): void {
  verdict.className = `verdict ${kind}`;
  verdict.replaceChildren(paragraph(title, "title"), ...lines.map((line) => paragraph(line)));
}

function paragraph(text: string, className = ""): HTMLParagraphElement {
  const element = document.createElement("p");
  element.textContent = text;
  element.className = className;
  return element;
}
