import { describe, expect, it } from "vitest";
import { MarkdownCache, renderMarkdown } from "../../../src/http/site/markdown.ts";

const render = (body: string, heading = 2) => renderMarkdown(body, heading).toString();

describe("a body", () => {
  it("is Markdown with tables, code, quotes and lists", () => {
    const html = render("**b** _e_ ~~s~~ `c`\n\n> q\n\n3. three\n\n|a|b|\n|-|-|\n|1|2|\n\n```js\nx < y\n```\n\n---");
    for (const part of [
      "<strong>b</strong>",
      "<em>e</em>",
      "<s>s</s>",
      "<code>c</code>",
      "<blockquote>",
      '<ol start="3">',
    ]) {
      expect(html).toContain(part);
    }
    expect(html).toContain('<div class="table" tabindex="0"><table>');
    expect(html).toContain("<td>2</td>");
    expect(html).toContain("<code>x &lt; y\n</code>");
  });

  it("has headings that leave no level of the page out", () => {
    const levels = (html: string) => [...html.matchAll(/<h(\d)>/g)].map(([, level]) => Number(level));
    expect(levels(render("# a\n\n#### b\n\n## c\n\n###### d"))).toEqual([2, 3, 3, 4]);
    expect(levels(render("###### a", 3))).toEqual([3]);
  });

  it("links to what is meant to be linked to, and says what links are", () => {
    expect(render("https://example.com/?a=1&b=2")).toContain(
      '<a href="https://example.com/?a=1&amp;b=2" rel="nofollow ugc noopener">',
    );
    expect(render("[here](/posts/1) [mail](mailto:a@example.com)").match(/<a /g)).toHaveLength(2);
    for (const body of [
      "[a](javascript:x)",
      "[a](//example.com)",
      "[a](file:///x)",
      "[a](data:x)",
      "example.com",
      "//a.b",
    ]) {
      expect(render(body), body).not.toContain("<a ");
    }
  });

  it("shows an image as a link, also within a link", () => {
    expect(render("![alt](https://example.com/p.png)")).toContain(">image: alt</a>");
    expect(render("[![alt](https://example.com/p.png)](https://example.com)").match(/<a /g)).toHaveLength(1);
  });
});

/** Bodies that make parsers work hard, filled up to the 10,000 characters that there may be. */
const hard: Record<string, string> = {
  quotes: ">",
  "quoted lists": ">- ",
  brackets: "[",
  "links begun": "[a](",
  images: "![",
  emphasis: "*a **a ",
  "stars and lines": "*_",
  tildes: "~~a ",
  "angle brackets": "<a ",
  comments: "<!--",
  addresses: "http://a.b ",
  schemes: "http://",
  mails: "a@b.c ",
  entities: "&amp;",
  headings: "# a\n",
  paragraphs: "a\n\n",
  "deep quotes and none": ">>>>>>>>>>>>>>>>>>>>a\n\nb\n\n",
  "many columns": `|${"a|".repeat(2000)}\n|${"-|".repeat(2000)}\n${"|\n".repeat(900)}`,
  "many rows": `|${"a|".repeat(60)}\n|${"-|".repeat(60)}\n${"|\n".repeat(4800)}`,
  backticks: Array.from({ length: 139 }, (_, i) => "`".repeat(i)).join(" "),
  indents: Array.from({ length: 130 }, (_, i) => `${" ".repeat(i)}- a\n`).join(""),
};

describe("a hostile body costs little", () => {
  it.each(Object.entries(hard))("%s", (_name, unit) => {
    const body = unit.repeat(Math.ceil(10_000 / unit.length)).slice(0, 10_000);
    render(body);
    const began = process.cpuUsage();
    const html = render(body);
    // In microseconds. Measured: 6 ms at most; a parser that has gone quadratic takes seconds.
    expect(process.cpuUsage(began).user).toBeLessThan(400_000);
    expect(html.length).toBeLessThan(250_000);
  });

  it("and is shown as it was written, where it makes too many elements", () => {
    const body = "a\n\n".repeat(3000);
    expect(render(body)).toBe(`<p class="as-written">${body}</p>`);
  });
});

describe("the cache", () => {
  it("renders a body once for each heading level, and keeps what was used last", () => {
    const cache = new MarkdownCache(4000);
    const first = cache.render("# a", 2);
    expect(cache.render("# a", 2)).toBe(first);
    expect(cache.render("# a", 3).toString()).toContain("<h3>");
    cache.render("x".repeat(1500), 2);
    expect(cache.render("# a", 2)).toBe(first);
    cache.render("y".repeat(1500), 2);
    cache.render("z".repeat(1900), 2);
    expect(cache.render("# a", 2)).not.toBe(first);
  });
});
