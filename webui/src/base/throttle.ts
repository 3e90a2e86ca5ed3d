// Calls `action` at most once per `interval_ms`, at once when idle, and once more
// at the end if it was asked for meanwhile.
export interface Throttled {
  (): void;
  cancel(): void;
}

export function throttle(action: () => void, interval_ms: number): Throttled {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let again = false;
  const tick = () => {
    timer = undefined;
    if (!again) return;
    again = false;
    call();
  };
  const call = () => {
    if (timer !== undefined) {
      again = true;
      return;
    }
    timer = setTimeout(tick, interval_ms);
    action();
  };
  const throttled = call as Throttled;
  throttled.cancel = () => {
    clearTimeout(timer);
    timer = undefined;
    again = false;
  };
  return throttled;
}
