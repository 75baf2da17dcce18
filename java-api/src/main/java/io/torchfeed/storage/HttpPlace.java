// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import java.io.IOException;
import java.net.URI;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The address of an object and the one to which its server has redirected, which is used until it
 * fails. Thread-safe.
 */
final class HttpPlace {
  private static final Set<Integer> REDIRECTS = Set.of(301, 302, 303, 307, 308);
  private static final int MAX_HOPS = 10;

  private final URI origin;
  private final RequestHeaders headers;
  private volatile URI target;
  private volatile boolean isKnown;

  HttpPlace(URI origin, RequestHeaders headers) {
    this.origin = origin;
    this.headers = headers;
    target = origin;
  }

  /** Returns whether a server has answered with bytes of the object. */
  boolean isKnown() {
    return isKnown;
  }

  static boolean isRedirect(int status) {
    return REDIRECTS.contains(status);
  }

  /** Returns the way of one read, from the last place that answered. */
  Route route() {
    return new Route();
  }

  /** Returns the host and port of an address, for messages: the rest may have secrets. */
  static String host(URI uri) {
    String port = uri.getPort() < 0 ? "" : ":" + uri.getPort();
    return uri.getHost() + port;
  }

  private static boolean isSameServer(URI a, URI b) {
    return a.getScheme().equalsIgnoreCase(b.getScheme())
        && a.getHost().equalsIgnoreCase(b.getHost())
        && port(a) == port(b);
  }

  private static int port(URI uri) {
    return uri.getPort() >= 0 ? uri.getPort() : isSecret(uri) ? 443 : 80;
  }

  private static boolean isSecret(URI uri) {
    return uri.getScheme().equalsIgnoreCase("https");
  }

  /** Returns whether an address has a host that is reached by HTTP. */
  static boolean isHttp(URI uri) {
    String scheme = uri.getScheme();
    return scheme != null
        && Set.of("http", "https").contains(scheme.toLowerCase(Locale.ROOT))
        && uri.getHost() != null;
  }

  /** The addresses that one read tries. */
  final class Route {
    private URI now = target;
    private int hops;

    /** Set if another read was redirected to this address. */
    private boolean isOld = !now.equals(origin);

    URI now() {
      return now;
    }

    /** Returns the headers that allow a request: none for another server than the object's. */
    Map<String, String> headers() throws IOException {
      return isSameServer(now, origin) ? headers.of(now) : Map.of();
    }

    /** Begins again; returns whether that may help although the failure will not pass. */
    boolean restart() {
      boolean mayHelp = isOld;
      isOld = false;
      hops = 0;
      now = origin;
      target = origin;
      return mayHelp;
    }

    /** Remembers the address, which has answered. */
    void keep() {
      target = now;
      isKnown = true;
    }

    /** Follows a redirect; returns why not, or null. */
    @Nullable String redirect(Optional<String> location, int status) {
      String from = "%s redirects (%d) ".formatted(host(now), status);
      URI next;
      try {
        next = now.resolve(location.orElse("")).normalize();
      } catch (IllegalArgumentException e) { // its message has the address
        return from + "to an address that is none";
      }
      if (location.isEmpty() || !isHttp(next)) {
        return from + "to no address of HTTP";
      } else if (isSecret(now) && !isSecret(next)) {
        return from + "from https to http at %s, which is not followed".formatted(host(next));
      } else if (++hops > MAX_HOPS) {
        return from + "for the %dth time".formatted(hops);
      }
      now = next;
      return null;
    }
  }
}
