// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace;

import static java.util.Objects.requireNonNull;

import io.torchfeed.trace.ring.RecorderSettings;
import java.nio.file.Path;

/** The options of a {@link Trace}: the events to keep, and the folder of dumps. Immutable. */
public final class TraceOptions {
  private final RecorderSettings settings;

  private TraceOptions(RecorderSettings settings) {
    this.settings = settings;
  }

  /**
   * Returns options with the defaults: 131,072 events, which need 8 MiB of memory, and no signal.
   *
   * @param folder of the dumps of one run; created if it is missing. All ranks may share it, on one
   *     machine or several
   * @return the options
   */
  public static TraceOptions to(Path folder) {
    return new TraceOptions(
        RecorderSettings.of(requireNonNull(folder, "folder"), RecorderSettings.EVENTS, null));
  }

  /**
   * Sets the number of events to keep, of 64 bytes each; a step of a loop has about six.
   *
   * @param events in [1, 16,777,216]; rounded up to a power of 2
   * @return a copy
   * @throws IllegalArgumentException if the number is out of range
   */
  public TraceOptions withEvents(int events) {
    return new TraceOptions(RecorderSettings.of(settings.folder(), events, settings.signal()));
  }

  /**
   * Sets a signal at which the process writes a dump and continues.
   *
   * @param name without SIG, for example {@code USR1}; the JVM itself needs USR2
   * @return a copy
   */
  public TraceOptions withSignal(String name) {
    return new TraceOptions(
        RecorderSettings.of(settings.folder(), settings.events(), requireNonNull(name, "name")));
  }

  RecorderSettings settings() {
    return settings;
  }

  @Override
  public String toString() {
    return "TraceOptions[folder=%s, events=%d%s]"
        .formatted(
            settings.folder(),
            settings.events(),
            settings.signal() == null ? "" : ", signal=" + settings.signal());
  }
}
