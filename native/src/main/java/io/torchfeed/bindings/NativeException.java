// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.bindings;

/**
 * A failure reported by native code, with its kind; the public packages turn it into exceptions of
 * their own.
 */
public final class NativeException extends RuntimeException {
  private static final long serialVersionUID = 1L;
  private static final String BACKTRACE = "\nException raised from ";

  /** The kinds of failure that the facade distinguishes, named as in {@code torchfeed/error.h}. */
  public enum Code {
    INVALID_ARGUMENT,
    ILLEGAL_STATE,
    OUT_OF_MEMORY,
    PEER_LOST,
    TIMEOUT,
    UNREADABLE,
    INTERNAL
  }

  private final Code code;

  private NativeException(Code code, String message, Throwable cause) {
    super(message, cause);
    this.code = code;
  }

  public Code code() {
    return code;
  }

  /**
   * Translates an exception thrown by JavaCPP into the exception for the caller: {@code
   * CODE|message} is split, any backtrace is removed, also from the cause, and the kinds that every
   * package treats the same become standard JDK exceptions.
   */
  public static RuntimeException translate(RuntimeException thrown) {
    if (thrown.getClass() != RuntimeException.class) {
      return thrown; // not from JavaCPP
    }
    String text = String.valueOf(thrown.getMessage());
    int bar = text.indexOf('|');
    Code code = bar < 0 ? Code.INTERNAL : codeOf(text.substring(0, bar));
    String message =
        code == Code.INTERNAL && !text.startsWith("INTERNAL|") ? text : text.substring(bar + 1);
    RuntimeException cause = thrown;
    int backtrace = message.indexOf(BACKTRACE);
    if (backtrace >= 0) {
      message = message.substring(0, backtrace);
      cause = new RuntimeException(text.substring(0, text.indexOf(BACKTRACE)));
      cause.setStackTrace(thrown.getStackTrace());
    }
    return switch (code) {
      case INVALID_ARGUMENT -> new IllegalArgumentException(message, cause);
      case ILLEGAL_STATE -> new IllegalStateException(message, cause);
      default -> new NativeException(code, message, cause);
    };
  }

  private static Code codeOf(String name) {
    for (Code code : Code.values()) {
      if (code.name().equals(name)) {
        return code;
      }
    }
    return Code.INTERNAL;
  }
}
