import { describe, expect, it } from "vitest";
import { maxBodyCost, parseCost } from "../../src/markdown/parse.ts";
import { renderMarkdown } from "../../src/site/markdown.ts";
import { cpuMs } from "../support/cpu-time.ts";

const render = (body: string, heading = 2) => renderMarkdown(body, heading).text;

describe("a body", () => {
  it("supports Markdown with tables, code, quotes and lists", () => {
    const html = render("**b** _e_ ~~s~~ `c`\n\n> q\n\n3. three\n\n|a|b|\n|-|-|\n|1|2|\n\n```js\nx < y\n```\n\n---");
    expect(html).toContain("<strong>b</strong> <em>e</em> <s>s</s> <code>c</code>");
    expect(html).toContain("<blockquote>");
    expect(html).toContain('<ol start="3">');
    expect(html).toContain('<div class="table" tabindex="0"><table>');
    expect(html).toContain("<td>2</td>");
    expect(html).toContain("<code>x &lt; y\n</code>");
  });

  it("links the agents that it mentions, and nothing else", () => {
    const link = (name: string) => `<a class="mention" href="/agents/${name}">@${name}</a>`;
    expect(render("Hello @Zeno, @no-1_x & <@abc>")).toBe(
      `<p>Hello ${link("Zeno")}, ${link("no-1_x")} &amp; &lt;${link("abc")}&gt;</p>\n`,
    );
    const others = ["`@Zeno`", "\\@Zeno", "[@Zeno](https://stoa.example/)", "a@Zeno", "https://a.example/@Zeno", "@ab"];
    for (const other of others) expect(render(other)).not.toContain("mention");
  });

  it("shows tasks with their boxes", () => {
    const html = render("- [ ] walk\n- [x] <talk>\n- [y] no\n\n[x] no");
    expect(html).toContain('<li class="task"><span role="img" aria-label="To do:">☐</span> walk</li>');
    expect(html).toContain('<li class="task"><span role="img" aria-label="Done:">☑</span> &lt;talk&gt;</li>');
    expect(html.match(/"task"/g)).toHaveLength(2);
  });

  it("has headings that skip no level of the page", () => {
    const levels = (html: string) => [...html.matchAll(/<h(\d)>/g)].map(([, level]) => Number(level));
    expect(levels(render("# a\n\n#### b\n\n## c\n\n###### d"))).toEqual([2, 3, 3, 4]);
    expect(levels(render("###### a", 3))).toEqual([3]);
  });

  it("links only complete addresses, and marks links as user content", () => {
    expect(render("https://example.com/?a=1&b=2")).toContain(
      '<a href="https://example.com/?a=1&amp;b=2" rel="nofollow ugc noopener">',
    );
    expect(render("[here](/posts/1) [mail](mailto:a@example.com)").match(/<a /g)).toHaveLength(2);
    const refused = ["[a](javascript:x)", "[a](//example.com)", "[a](data:x)", "example.com", "//a.b"];
    for (const body of refused) expect(render(body), body).not.toContain("<a ");
  });

  it("shows images as links, within links as text", () => {
    expect(render("![alt](https://example.com/p.png)")).toContain(">image: alt</a>");
    expect(render("[![alt](https://example.com/p.png)](https://example.com)").match(/<a /g)).toHaveLength(1);
  });
});

describe("a table", () => {
  it("keeps the alignment of its columns", () => {
    const html = render("|a|b|c|d|\n|:-|:-:|-:|-|\n|1|2|3|4|");
    expect(html).toContain('<th align="left">a</th><th align="center">b</th><th align="right">c</th><th>d</th>');
    expect(html).toContain('<td align="left">1</td><td align="center">2</td><td align="right">3</td><td>4</td>');
  });

  it("has no attributes except alignments", () => {
    expect(render('|a|\n|:-:" style="x|\n|1|')).not.toContain("<t");
    expect(render("|a|\n|:-:|\n|1|")).not.toContain("style");
  });
});

it("a body keeps all characters that are not Markdown syntax", () => {
  expect(render("snake_case_name, 2 * 3, *, ids")).toBe("<p>snake_case_name, 2 * 3, *, ids</p>\n");
});

/** Texts that are expensive to parse, one for each way to be so. Each is repeated up to a length. */
const hard: Record<string, string> = {
  "deep lists": "- - - - - - - - - - a\n",
  "numbered lists in lists": "1) 1) 1) 1) 1) 1) 1) 1) 1) a\n",
  "quoted lists in lines": "> - > - > - > - a\n",
  "lazy lines": `${">".repeat(19)}a\n${"a\n".repeat(5000)}`,
  brackets: "[",
  "brackets before links": "[[a](/",
  "destinations with brackets": "[a](((((((((((((((((",
  "images in images": "![![![![![![![![a](/b)](/b)](/b)](/b)](/b)](/b)](/b)](/b)",
  "emphasis without space": "*a*",
  "emphasis 2,500 deep": "*a ".repeat(1250) + "_a ".repeat(1250) + "a_ ".repeat(1250) + "a* ".repeat(1250),
  "angle brackets": "<a ",
  addresses: "http://a.b ",
  schemes: "http://",
  entities: "&amp;",
  "deep quotes and none": ">>>>>>>>>>>>>>>>>>>>a\n\nb\n\n",
  "many columns": `|${"a|".repeat(2000)}\n|${"-|".repeat(2000)}\n${"|\n".repeat(900)}`,
  "many rows": `|${"a|".repeat(60)}\n|${"-|".repeat(60)}\n${"|\n".repeat(4800)}`,
  backticks: Array.from({ length: 139 }, (_, i) => "`".repeat(i)).join(" "),
  indents: Array.from({ length: 130 }, (_, i) => `${" ".repeat(i)}- a\n`).join(""),
  "definitions begun": "[a]: /b '\n",
};

describe("the cost of a body", () => {
  it("is low for hostile bodies", () => {
    for (const [name, unit] of Object.entries(hard)) {
      // The maximum lengths of comments and posts, and shorter ones that are still cheap enough to be parsed.
      for (const length of [2000, 3000, 5000, 10_000]) {
        const body = unit.repeat(Math.ceil(length / unit.length)).slice(0, length);
        let html = "";
        const ms = cpuMs(() => {
          html = render(body);
        }, 50);
        // As long as a request may block the event loop. It takes a fifth of that.
        expect(ms, `${length} characters of ${name}`).toBeLessThan(50);
        expect(html.length).toBeLessThan(250_000);
      }
    }
  });

  it("is too high with too many syntax characters, so the body is shown as plain text", () => {
    const body = "![".repeat(2500);
    expect(parseCost(body)).toBeGreaterThan(maxBodyCost);
    expect(render(body)).toBe(`<p class="as-written">${body}</p>`);
    expect(render(`${body}\n<b>"&`)).toBe(`<p class="as-written">${body}\n&lt;b&gt;"&amp;</p>`);
  });

  it("is far below the maximum for ordinary bodies", () => {
    const prose =
      "The porch (*stoa*) was painted; see [the plan](https://example.com/plan_2), `a_b` and:\n\n- one\n- two\n\n";
    expect(parseCost(prose.repeat(100).slice(0, 10_000))).toBeLessThan(maxBodyCost);
    const code = '  if (found.has("key")) {\n    return { key: value[0], rest: [...values] };\n  }\n';
    expect(parseCost(`\`\`\`js\n${code.repeat(120)}`.slice(0, 10_000))).toBeLessThan(maxBodyCost);
  });
});
