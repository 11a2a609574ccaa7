/* What Perfetto's UI shows first of a trace. */
#ifndef EXPORT_PERFETTO_FIRST_LOOK_H
#define EXPORT_PERFETTO_FIRST_LOOK_H

/*
 * Startup commands for the UI, as a JSON array (the parameter startupCommands of its address,
 * https://perfetto.dev/docs/visualization/commands-automation-reference). A trace itself cannot ask
 * for this, because a track's descriptor has no field for it; so the UI opens every group of tracks
 * folded. The commands unfold the processes and pin the tracks that say where the time goes.
 */
#define PERFETTO_FIRST_LOOK                                                                     \
	"[{\"id\":\"dev.perfetto.ExpandTracksByRegex\",\"args\":[\"^(?!(System|Modules)$)\"]}," \
	"{\"id\":\"dev.perfetto.PinTracksByRegex\",\"args\":[\"^Steps$\"]},"                    \
	"{\"id\":\"dev.perfetto.PinTracksByRegex\",\"args\":[\"^Phases$\"]},"                   \
	"{\"id\":\"dev.perfetto.PinTracksByRegex\","                                            \
	"\"args\":[\"^GPU [0-9]+ Stream [0-9]+\"]},"                                            \
	"{\"id\":\"dev.perfetto.PinTracksByRegex\",\"args\":[\"^GPU [0-9]+ idle$\"]}]"

#endif
