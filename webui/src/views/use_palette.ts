import { useLayoutEffect, useState, type RefObject } from 'react';
import { readPalette, type Palette } from '../graph/palette';

// The colours of the current scheme; null until the element exists, which is before the first paint. They are
// read again when the scheme changes and when the fonts have loaded.
export function usePalette(element: RefObject<HTMLElement | null>): Palette | null {
  const [palette, setPalette] = useState<Palette | null>(null);
  useLayoutEffect(() => {
    const read = () => element.current !== null && setPalette(readPalette(element.current));
    read();
    const scheme = window.matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', read);
    let live = true;
    const faces = ['400 12px "JetBrains Mono"', '600 12px "JetBrains Mono"'];
    void Promise.all(faces.map((face) => document.fonts?.load(face))).then(() => live && read());
    return () => {
      live = false;
      scheme.removeEventListener('change', read);
    };
  }, [element]);
  return palette;
}
