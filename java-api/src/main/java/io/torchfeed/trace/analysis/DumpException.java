// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.trace.analysis;

import io.torchfeed.internal.Quotes;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** Thrown for dumps that cannot be used; the message names the file and the remedy. */
public final class DumpException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  private DumpException(String message, @Nullable Throwable cause) {
    super(message, cause);
  }

  static DumpException of(Path file, String fault, String remedy) {
    return of(file, fault, remedy, null);
  }

  static DumpException of(Path file, String fault, String remedy, @Nullable Throwable cause) {
    return new DumpException(
        "%s %s; %s".formatted(Quotes.printable(file.toString()), fault, remedy), cause);
  }
}
