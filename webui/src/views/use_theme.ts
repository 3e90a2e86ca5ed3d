// The colours of a canvas, read from the style sheet.

import { useEffect, useState, type RefObject } from 'react';

// The theme of the current scheme, read again when it changes. `read` must not change.
export function useTheme<Theme>(element: RefObject<HTMLElement | null>, read: (element: Element) => Theme): Theme | null {
  const [theme, setTheme] = useState<Theme | null>(null);
  useEffect(() => {
    const update = () => element.current !== null && setTheme(read(element.current));
    update();
    const scheme = window.matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', update);
    return () => scheme.removeEventListener('change', update);
  }, [element, read]);
  return theme;
}
