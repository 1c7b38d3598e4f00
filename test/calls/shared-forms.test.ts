import { expect, it } from "vitest";
import { SharedForms } from "../../src/calls/shared-forms.ts";

it("a form is made once, and anew if it could not be made", async () => {
  const forms = new SharedForms();
  let made = 0;
  const count = () => {
    made += 1;
    return made;
  };
  expect([forms.get("a", count), forms.get("a", count), forms.get("b", count)]).toEqual([1, 1, 2]);
  const failing = forms.get("c", () => Promise.reject(new Error("no memory")));
  await expect(failing).rejects.toThrow("no memory");
  expect(await forms.get("c", async () => count())).toBe(3);
  expect(await forms.get("c", async () => count())).toBe(3);
});
