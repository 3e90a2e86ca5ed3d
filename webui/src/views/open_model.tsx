// Opening a model file: the button, and the handlers of the drop target.

import { FolderOpen } from 'lucide-react';
import { useRef, useState } from 'react';
import { modelAmong, openModel, useOpening } from '../state/model_files';
import { Button } from '../widgets/button';
import * as words from '../words/job';

export function OpenModel() {
  const opening = useOpening((state) => state.name !== null);
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button
        label={words.openModel}
        icon={FolderOpen}
        small
        pending={opening}
        onClick={() => input.current?.click()}
      />
      <input
        ref={input}
        type="file"
        accept=".onnx"
        aria-label={words.modelFile}
        className="visually-hidden"
        tabIndex={-1}
        onChange={({ target }) => {
          const file = target.files?.[0];
          // Without this, choosing the same file again would not fire an event.
          target.value = '';
          if (file !== undefined) void openModel(file);
        }}
      />
    </>
  );
}

interface DropTarget {
  // A file is being dragged over the target.
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
        // Moving between elements inside the target does not leave it.
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
