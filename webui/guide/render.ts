// Renders the guide of docs/guide to static pages, without scripts.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Marked, type Tokens } from 'marked';

export const GUIDE = join(import.meta.dirname, '../docs/guide');
const IMAGES = 'images';

export interface GuideFile {
  // Relative to /guide/.
  name: string;
  source: string | Uint8Array;
}

const escape = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const slug = (title: string) =>
  title
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');

// README.md is the page that GitHub shows for the folder.
const toHtmlFile = (href: string) => href.replace(/^README\.md/, 'index.md').replace(/\.md(?=#|$)/, '.html');

// The width and height of a PNG file, so that the text does not move when the picture arrives. A new
// picture does not exist until the page has been built and it has been taken.
function sizeOf(image: string): string {
  const file = join(GUIDE, image);
  if (!existsSync(file)) return '';
  const header = readFileSync(file);
  return ` width="${header.readUInt32BE(16)}" height="${header.readUInt32BE(20)}"`;
}

function markdown(): Marked {
  return new Marked({
    renderer: {
      heading({ depth, text, tokens }: Tokens.Heading) {
        return `<h${depth} id="${slug(text)}">${this.parser.parseInline(tokens)}</h${depth}>\n`;
      },
      link({ href, tokens }: Tokens.Link) {
        return `<a href="${escape(toHtmlFile(href))}">${this.parser.parseInline(tokens)}</a>`;
      },
      // A click shows the picture in its own size.
      image({ href, text }: Tokens.Image) {
        return `<a class="picture" href="${escape(href)}"><img src="${escape(href)}" alt="${escape(text)}"${sizeOf(href)} /></a>`;
      },
      html: ({ text }: Tokens.HTML | Tokens.Tag) => escape(text),
    },
  });
}

const titleOf = (text: string) => /^# (.+)$/m.exec(text)?.[1] ?? '';
const read = (name: string) => readFileSync(join(GUIDE, `${name}.md`), 'utf8');

// The names of the pages, in the order in which the list of contents has them.
export function guidePages(): string[] {
  return [...read('README').matchAll(/\]\(([a-z-]+)\.md\)/g)].map((match) => match[1] ?? '');
}

function navigation(pages: string[], current: string): string {
  const items = ['README', ...pages].map((name) => {
    const here = name === current ? ' aria-current="page"' : '';
    return `<li><a href="${toHtmlFile(`${name}.md`)}"${here}>${escape(titleOf(read(name)))}</a></li>`;
  });
  return `<nav aria-label="Guide"><ul>${items.join('')}</ul></nav>`;
}

function page(pages: string[], name: string): string {
  const text = read(name);
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <link rel="icon" href="/icon.svg" type="image/svg+xml" />
    <link rel="stylesheet" href="guide.css" />
    <title>${escape(titleOf(text))} – graphdbg</title>
  </head>
  <body>
    <header><a href="/">graphdbg</a></header>
    ${navigation(pages, name)}
    <main>${markdown().parse(text, { async: false })}</main>
  </body>
</html>
`;
}

const style = (name: string) => readFileSync(join(import.meta.dirname, name), 'utf8');

// `fontUrl` is the address of a font file of the page, or null where it has none.
export function renderGuide(fontUrl: (file: string) => string | null): GuideFile[] {
  const tokens = style('../src/styles/tokens.css').replaceAll(
    /url\('[^']*\/([^'/]+\.woff2)'\)/g,
    (_, file: string) => (fontUrl(file) === null ? 'local("")' : `url('${fontUrl(file)}')`),
  );
  const pages = guidePages();
  return [
    { name: 'guide.css', source: tokens + style('guide.css') },
    ...['README', ...pages].map((name) => ({ name: toHtmlFile(`${name}.md`), source: page(pages, name) })),
    ...readdirSync(join(GUIDE, IMAGES)).map((name) => ({
      name: `${IMAGES}/${name}`,
      source: readFileSync(join(GUIDE, IMAGES, name)),
    })),
  ];
}
