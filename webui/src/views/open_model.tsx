// Opening a model file: the button, and the handlers of the drop target.

import { FolderOpen } from 'lucide-react';
import { useRef, useState } from 'react';
import { useAuth } from '../state/auth';
import { modelAmong, openModel, useOpening } from '../state/model_files';
import { reasonAgainst } from '../state/permissions';
import { Button } from '../widgets/button';
import * as words from '../words/job';

export function OpenModel() {
  const opening = useOpening((state) => state.name !== null);
  const input = useRef<HTMLInputElement>(null);
  const session = useAuth((state) => state.session);
  const forbidden = reasonAgainst('open_model', session, null);
  return (
    <>
      <Button
        label={words.openModel}
        icon={FolderOpen}
        small
        pending={opening}
        disabledReason={forbidden}
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
  const permitted = useAuth(({ session }) => reasonAgainst('open_model', session, null) === '');
  return {
    over,
    handlers: {
      onDragOver: (event) => {
        if (!permitted || !event.dataTransfer.types.includes('Files')) return;
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
        if (file !== undefined && permitted) void openModel(file);
      },
    },
  };
}
