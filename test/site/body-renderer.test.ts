import { describe, expect, it } from "vitest";
import { BodyRenderer } from "../../src/site/body-renderer.ts";

const signal = new AbortController().signal;
const bodiesOf = (texts: string[]) => texts.map((text) => ({ text, heading: 3 }));
/** Each costs about 3,250, so twelve of them fill a page. */
const heavy = (name: string) => `${name} ${"[a].".repeat(1050)}`;

describe("BodyRenderer", () => {
  it("renders bodies in order, with headings at the right level", async () => {
    const html = await new BodyRenderer().render(
      [{ text: "# a", heading: 2 }, ...bodiesOf(["# b", "", "*c*"])],
      signal,
    );
    expect(html.map(String)).toEqual(["<h2>a</h2>\n", "<h3>b</h3>\n", "", "<p><em>c</em></p>\n"]);
  });

  it("shows bodies as plain text once the page costs too much, and always the same ones", async () => {
    const bodies = new BodyRenderer();
    const page = bodiesOf(Array.from({ length: 100 }, (_, i) => heavy(String(i))));
    const first = await bodies.render([...page, ...bodiesOf(["*light*"])], signal);
    const renderPlainText = first.map((html) => String(html).startsWith('<p class="as-written">'));
    expect(renderPlainText.indexOf(true)).toBe(12);
    expect(renderPlainText.slice(12, 100)).toEqual(Array(88).fill(true));
    // A body that costs little still fits.
    expect(first.at(-1)?.toString()).toBe("<p><em>light</em></p>\n");
    const again = await bodies.render([...page, ...bodiesOf(["*light*"])], signal);
    expect(again.map(String)).toEqual(first.map(String));
  });

  it("yields to the event loop", async () => {
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
    // Each page has a dozen slices, and each slice has its own iteration of the loop.
    expect(turns).toBeGreaterThanOrEqual(20);
  });

  it("stops when its signal aborts", async () => {
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
