export interface Throttled {
  (): void;
  cancel(): void;
}

// Limits calls of `action` to one per `interval_ms`. The first call takes effect immediately;
// calls during the interval take effect once, at its end.
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
