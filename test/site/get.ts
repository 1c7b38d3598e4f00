/** What a browser accepts. */
export const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

export interface Got {
  status: number;
  headers: Headers;
  text: string;
}

/** How to get the pages of a service: as a browser does, unless the test says otherwise. */
export function pagesOf({ url }: { url: string }) {
  return async (path: string, headers: Record<string, string> = { accept: browser }, method = "GET"): Promise<Got> => {
    const response = await fetch(url + path, { method, headers, redirect: "manual" });
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
}

/** The address of the page that follows, without its fragment; undefined if this is the last one. */
export const nextIn = (text: string): string =>
  /<a class="next" href="([^"#]+)/.exec(text)?.[1]?.replaceAll("&amp;", "&") as string;
