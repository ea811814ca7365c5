package kubelet

import "fmt"

// created is the text of the event.
func (v Release) created(name string) string {
	switch {
	case v.Has(EventsWithoutNames):
		return "Container created"
	case v.Has(CreatedWithColon):
		return "Created container: " + name
	}
	return "Created container " + name
}

func (v Release) started(name string) string {
	if v.Has(EventsWithoutNames) {
		return "Container started"
	}
	return "Started container " + name
}

func (v Release) pulled(image string) string {
	if v.Has(EventsWithoutNames) {
		return fmt.Sprintf("Container image %q already present on machine and can be accessed by the pod", image)
	}
	return fmt.Sprintf("Container image %q already present on machine", image)
}
