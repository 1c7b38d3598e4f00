import { describe, expect, it } from "vitest";
import { BodyRenderer } from "../../src/site/body-renderer.ts";
import { TextCache } from "../../src/site/text-cache.ts";

const signal = new AbortController().signal;
const bodiesOf = (texts: string[]) => texts.map((text) => ({ text, heading: 3 }));
/** Each weighs about 3,250: twelve of them fill a page. */
const heavy = (name: string) => `${name} ${"[a].".repeat(1050)}`;

describe("the bodies of a page", () => {
  it("are rendered in their order, with headings at their level", async () => {
    const html = await new BodyRenderer().render(
      [{ text: "# a", heading: 2 }, ...bodiesOf(["# b", "", "*c*"])],
      signal,
    );
    expect(html.map(String)).toEqual(["<h2>a</h2>\n", "<h3>b</h3>\n", "", "<p><em>c</em></p>\n"]);
  });

  it("are plain text from where the page would cost too much, the same on every reading", async () => {
    const bodies = new BodyRenderer();
    const page = bodiesOf(Array.from({ length: 100 }, (_, i) => heavy(String(i))));
    const first = await bodies.render([...page, ...bodiesOf(["*light*"])], signal);
    const renderPlainText = first.map((html) => String(html).startsWith('<p class="as-written">'));
    expect(renderPlainText.indexOf(true)).toBe(12);
    expect(renderPlainText.slice(12, 100)).toEqual(Array(88).fill(true));
    // What costs little still fits.
    expect(first.at(-1)?.toString()).toBe("<p><em>light</em></p>\n");
    const again = await bodies.render([...page, ...bodiesOf(["*light*"])], signal);
    expect(again.map(String)).toEqual(first.map(String));
  });

  it("let others have their turn", async () => {
    const bodies = new BodyRenderer();
    let turns = 0;
    let done = false;
    const count = () => {
      turns++;
      if (!done) setImmediate(count);
    };
    setImmediate(count);
    await Promise.all(
      ["a", "b"].map((page) => bodies.render(bodiesOf(Array.from({ length: 12 }, (_, i) => heavy(page + i))), signal)),
    );
    done = true;
    // Each page has a dozen slices, and each slice an iteration of the loop of its own.
    expect(turns).toBeGreaterThanOrEqual(20);
  });

  it("are not rendered on once nobody waits", async () => {
    const leaving = new AbortController();
    const rendered: unknown[] = [];
    const finish = <T>(html: T): T => {
      rendered.push(html);
      return html;
    };
    const page = bodiesOf(Array.from({ length: 12 }, (_, i) => heavy(String(i))));
    const result = new BodyRenderer().render(page, leaving.signal, finish);
    leaving.abort(new Error("gone"));
    await expect(result).rejects.toThrow("gone");
    expect(rendered.length).toBeLessThan(3);
  });
});

it("recent texts are remembered up to a length, and those used last the longest", () => {
  const texts = new TextCache<string>(20);
  const made: string[] = [];
  const get = (text: string) =>
    texts.get(text, () => {
      made.push(text);
      return text;
    });
  for (const text of ["a1234", "b1234", "a1234", "c1234", "a1234", "b1234"]) expect(get(text)).toBe(text);
  expect(made).toEqual(["a1234", "b1234", "c1234", "b1234"]);
});
