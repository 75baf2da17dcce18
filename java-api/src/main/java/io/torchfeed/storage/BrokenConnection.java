// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import io.torchfeed.internal.Failures;
import io.torchfeed.storage.Retries.PassingException;
import java.net.ConnectException;
import java.net.ProtocolException;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.channels.UnresolvedAddressException;
import java.time.Duration;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/** The meaning of the failure of a connection. */
final class BrokenConnection {
  /** For a few tries: the JDK asks for an unknown host again after 10 s only. */
  private static final Duration UNKNOWN_HOST = Duration.ofSeconds(1);

  /** For a server that is just starting. */
  private static final Duration NO_SERVER = Duration.ofSeconds(5);

  private BrokenConnection() {}

  static PassingException of(URI to, Throwable cause) {
    String host = HttpPlace.host(to);
    if (isCausedBy(cause, UnresolvedAddressException.class)
        || isCausedBy(cause, UnknownHostException.class)) {
      String reason = "the connection failed: the host of %s is unknown; check the address";
      return new PassingException(reason.formatted(host), cause, UNKNOWN_HOST);
    } else if (isCausedBy(cause, ConnectException.class)) {
      String reason = "the connection failed: no server accepts it at %s; check host and port";
      return new PassingException(reason.formatted(host), cause, NO_SERVER);
    }
    String reason = "the connection failed: " + Failures.reason(cause);
    boolean isOther = // such as a server of another protocol, or without a valid certificate
        isCausedBy(cause, ProtocolException.class) || isCausedBy(cause, SSLException.class);
    return isOther
        ? new PassingException(reason, cause, NO_SERVER)
        : new PassingException(reason, Duration.ZERO, cause);
  }

  private static boolean isCausedBy(Throwable failure, Class<? extends Exception> type) {
    for (@Nullable Throwable e = failure; e != null; e = e.getCause()) {
      if (type.isInstance(e)) {
        return true;
      }
    }
    return false;
  }
}
