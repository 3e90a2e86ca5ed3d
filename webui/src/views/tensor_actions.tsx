// Copies the shown values as text, or downloads the whole tensor as a file.

import { Download } from 'lucide-react';
import { useRef, useState } from 'react';
import { api } from '../api/client';
import type { TensorSlice } from '../api/types';
import { formatCount, formatShape } from '../base/format';
import { isRun } from '../base/run_id';
import { copyText } from '../state/clipboard';
import { describe } from '../state/describe';
import { hitToBundle } from '../state/hits';
import { useJob } from '../state/job_store';
import type { ValueQuery } from '../state/queries';
import { showToast } from '../state/toasts';
import { showOverlay } from '../state/ui';
import { Button } from '../widgets/button';
import { Menu, type MenuItem } from '../widgets/menu';
import { changeValues } from '../words/change_orders';
import * as words from '../words/tensor';
import { useReasonAgainst, useReasonAgainstChange } from './use_reason_against';

const MAX_COPIED = 100_000;

// One line per row with columns separated by tabs, which spreadsheets accept.
function asTable({ elements, shape }: TensorSlice): string {
  if (elements === null) return '';
  const columns = Math.max(1, shape.at(-1) ?? 1);
  let text = '';
  for (let i = 0; i < elements.count; i += 1) {
    text += elements.text(i) + ((i + 1) % columns === 0 ? '\n' : '\t');
  }
  return text;
}

const PYTHON_LITERALS: Record<string, string> = {
  NaN: 'nan',
  Infinity: 'inf',
  '-Infinity': '-inf',
  true: 'True',
  false: 'False',
};

// Nested Python lists, to be pasted into numpy.array().
function asLists({ elements, shape }: TensorSlice): string {
  if (elements === null) return '';

  const write = (axis: number, offset: number, size: number): string => {
    const count = shape[axis];
    if (count === undefined) return PYTHON_LITERALS[elements.text(offset)] ?? elements.text(offset);
    const inner = size / Math.max(1, count);
    return `[${Array.from({ length: count }, (_, i) => write(axis + 1, offset + i * inner, inner)).join(', ')}]`;
  };
  return write(0, 0, elements.count);
}

async function save(request: ReturnType<typeof api.bundle>): Promise<void> {
  try {
    const file = await request;
    const link = document.createElement('a');
    link.href = URL.createObjectURL(file.data);
    link.download = file.name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  } catch (error) {
    showToast({ kind: 'error', title: words.downloadFailed, detail: describe(error) });
  }
}

interface Props {
  query: ValueQuery;
  value: TensorSlice | undefined;
}

export function TensorActions({ query, value }: Props) {
  const [place, setPlace] = useState<{ x: number; y: number } | null>(null);
  const anchor = useRef<HTMLSpanElement>(null);
  const count = value?.elements?.count ?? 0;
  const noCopy =
    value === undefined
      ? words.nothingToCopy
      : count > MAX_COPIED
        ? words.tooManyToCopy(formatCount(MAX_COPIED))
        : '';
  const copy = (write: (value: TensorSlice) => string) => () =>
    value !== undefined && void copyText(write(value), words.copiedValues(formatShape(value.shape)));
  const forbidden = useReasonAgainst('control');
  const noChange = useReasonAgainstChange();
  const hit = useJob(({ model }) => hitToBundle(model, query.name, query.rank));
  const download = (format: 'npy' | 'safetensors') => {
    const { job, name, rank, step } = query;
    return api.download(job, { name, rank, step }, format);
  };
  const noFile = query.enabled ? '' : words.pauseFirst;
  const items: MenuItem[] = [
    { label: words.copyAsTable, disabledReason: noCopy, onChoose: copy(asTable) },
    { label: words.copyAsLists, disabledReason: noCopy, onChoose: copy(asLists) },
    {
      label: words.downloadNpy,
      separated: true,
      disabledReason: noFile,
      onChoose: () => void save(download('npy')),
    },
    {
      label: words.downloadSafetensors,
      disabledReason: noFile,
      onChoose: () => void save(download('safetensors')),
    },
  ];
  if (hit !== null && !isRun(query.job)) {
    const { job } = query;
    items.push({
      label: words.downloadBundle,
      disabledReason: forbidden,
      onChoose: () => void save(api.bundle(job, hit.id)),
    });
  }
  if (!isRun(query.job)) {
    items.push({
      label: changeValues,
      separated: true,
      disabledReason: noChange,
      onChoose: () => showOverlay('change'),
    });
  }
  return (
    <span ref={anchor}>
      <Button
        label={words.copyOrDownload}
        icon={Download}
        iconOnly
        small
        tone="quiet"
        pressed={place !== null}
        onClick={() => {
          const edge = anchor.current?.getBoundingClientRect();
          setPlace({ x: edge?.left ?? 0, y: (edge?.bottom ?? 0) + 2 });
        }}
      />
      {place !== null && (
        <Menu label={query.name} items={items} x={place.x} y={place.y} onClose={() => setPlace(null)} />
      )}
    </span>
  );
}
