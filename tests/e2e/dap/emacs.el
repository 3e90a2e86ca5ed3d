;;; emacs.el --- debugs a script with dap-mode  -*- lexical-binding: t -*-

;;; Commentary:
;; Stops at a line, looks at the stack and a value, and runs to the end.  Prints one line for each step;
;; `test_dap_emacs.py' reads them.

;;; Code:

(package-initialize)
(require 'dap-mode)
(require 'dap-ui)

(defvar script (getenv "SCRIPT"))
(defvar ended nil)

(defun say (&rest parts)
  "Print PARTS as a line."
  (princ (concat (mapconcat (lambda (each) (format "%s" each)) parts " ") "\n")))

(dap-register-debug-provider
 "graphdbg"
 (lambda (configuration)
   (plist-put configuration :dap-server-path (list (getenv "GRAPHDBG") "dap"))))

(defun look (session)
  "Tell where SESSION has stopped, and go on without breakpoints."
  (when-let ((frame (dap--debug-session-active-frame session)))
    (say "frame" (gethash "name" frame) (gethash "line" frame))
    (dap--send-message
     (dap--make-request "evaluate" (list :expression "$" :frameId (gethash "id" frame) :context "hover"))
     (lambda (answer)
       (say "value" (gethash "result" (gethash "body" answer)))
       (with-current-buffer (find-file-noselect script) (dap-breakpoint-delete-all))
       (dap-continue session (dap--debug-session-thread-id session)))
     session)))

(add-hook 'dap-stack-frame-changed-hook #'look)
(add-hook 'dap-stopped-hook (lambda (_session) (say "stopped")))
(add-hook 'dap-terminated-hook (lambda (_session) (say "terminated") (setq ended t)))

(find-file script)
(goto-char (point-min))
(forward-line (1- (string-to-number (getenv "LINE"))))
(dap-breakpoint-add)
(dap-debug (list :type "graphdbg" :request "launch" :name "test"
                 :program script :python (getenv "PYTHON") :args ["2"]))
(while (not ended) (accept-process-output nil 0.1))

;;; emacs.el ends here
