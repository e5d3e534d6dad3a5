// Holds a pod's namespaces, and collects what its processes leave behind.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		for collected, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); collected > 0 && err == nil; {
			collected, err = syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		}
	}
}
