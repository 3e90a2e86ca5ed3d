// The button that opens a model file, and where one can be dropped.

import { FolderOpen } from 'lucide-react';
import { useRef, useState } from 'react';
import { modelAmong, openModel, useOpening } from '../state/model_files';
import { Button } from '../widgets/button';

export function OpenModel() {
  const opening = useOpening((state) => state.name !== null);
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button
        label="Open a model"
        icon={FolderOpen}
        small
        pending={opening}
        onClick={() => input.current?.click()}
      />
      <input
        ref={input}
        type="file"
        accept=".onnx"
        aria-label="Model file"
        className="visually-hidden"
        tabIndex={-1}
        onChange={({ target }) => {
          const file = target.files?.[0];
          // The same file may be chosen again.
          target.value = '';
          if (file !== undefined) void openModel(file);
        }}
      />
    </>
  );
}

interface DropTarget {
  // A file is held over it.
  over: boolean;
  handlers: Pick<React.DOMAttributes<HTMLElement>, 'onDragOver' | 'onDragLeave' | 'onDrop'>;
}

export function useModelDrop(): DropTarget {
  const [over, setOver] = useState(false);
  return {
    over,
    handlers: {
      onDragOver: (event) => {
        if (!event.dataTransfer.types.includes('Files')) return;
        event.preventDefault();
        event.dataTransfer.dropEffect = 'copy';
        setOver(true);
      },
      onDragLeave: (event) => {
        // Not on the way from one element inside to another.
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
      },
      onDrop: (event) => {
        event.preventDefault();
        setOver(false);
        const file = modelAmong(event.dataTransfer.files);
        if (file !== undefined) void openModel(file);
      },
    },
  };
}
