// A window splitter that follows the ARIA Authoring Practices: drag, arrow keys, Home and
// End. A double click restores the initial size.

import { useRef } from 'react';
import { limitSize, PANEL_LIMITS, resizePanel, useUi, type PanelSizes } from '../state/ui';
import './splitter.css';

interface Props {
  panel: keyof PanelSizes;
  label: string;
  // The panel that is resized: before (left of or above) or after the splitter.
  side: 'before' | 'after';
  orientation: 'vertical' | 'horizontal';
}

const KEY_STEP = 16;

export function Splitter({ panel, label, side, orientation }: Props) {
  const size = useUi((state) => state.sizes[panel]);
  const start = useRef<{ at: number; size: number } | null>(null);
  const { min, max, first } = PANEL_LIMITS[panel];
  const vertical = orientation === 'vertical';
  const sign = side === 'before' ? 1 : -1;
  const keys: Record<string, number> = {
    [vertical ? 'ArrowLeft' : 'ArrowUp']: size - sign * KEY_STEP,
    [vertical ? 'ArrowRight' : 'ArrowDown']: size + sign * KEY_STEP,
    Home: min,
    End: max,
  };
  return (
    <div
      className={`splitter splitter-${orientation}`}
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-orientation={orientation}
      aria-valuenow={size}
      aria-valuemin={min}
      aria-valuemax={max}
      onDoubleClick={() => resizePanel(panel, first)}
      onKeyDown={(event) => {
        const next = keys[event.key];
        if (next === undefined) return;
        event.preventDefault();
        resizePanel(panel, limitSize(panel, next));
      }}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        start.current = { at: vertical ? event.clientX : event.clientY, size };
      }}
      onPointerMove={(event) => {
        if (start.current === null) return;
        const moved = (vertical ? event.clientX : event.clientY) - start.current.at;
        resizePanel(panel, start.current.size + sign * moved);
      }}
      onPointerUp={() => {
        start.current = null;
      }}
    />
  );
}
