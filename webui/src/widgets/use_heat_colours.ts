import { useEffect, useState, type RefObject } from 'react';
import type { HeatColours, Rgb } from './heat_pixels';

export interface HeatTheme {
  colours: HeatColours;
  text: string;
  nan_text: string;
  inf_text: string;
  neg_inf_text: string;
  on_strong: string;
  line: string;
  font: string;
}

// Parses "#12161c" or "18 132 122".
function parseColour(text: string): Rgb {
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(text);
  const [r = 0, g = 0, b = 0] = hex
    ? hex.slice(1).map((part) => Number.parseInt(part, 16))
    : text.split(/\s+/).map(Number);
  return { r, g, b };
}

function read(element: HTMLElement): HeatTheme {
  const style = getComputedStyle(element);
  const value = (name: string) => style.getPropertyValue(name).trim();
  const colour = (name: string) => parseColour(value(name));
  return {
    colours: {
      ground: colour('--heat-ground'),
      positive: colour('--positive'),
      negative: colour('--negative'),
      nan: colour('--nan-bg'),
      inf: colour('--inf-bg'),
      neg_inf: colour('--neg-inf-bg'),
    },
    text: value('--text'),
    nan_text: value('--nan-text'),
    inf_text: value('--inf-text'),
    neg_inf_text: value('--neg-inf-text'),
    on_strong: value('--on-heat'),
    line: value('--text'),
    font: value('--font-mono'),
  };
}

// The colours of the current scheme, read again when it changes.
export function useHeatTheme(element: RefObject<HTMLElement | null>): HeatTheme | null {
  const [theme, setTheme] = useState<HeatTheme | null>(null);
  useEffect(() => {
    const update = () => element.current !== null && setTheme(read(element.current));
    update();
    const scheme = window.matchMedia('(prefers-color-scheme: dark)');
    scheme.addEventListener('change', update);
    return () => scheme.removeEventListener('change', update);
  }, [element]);
  return theme;
}
