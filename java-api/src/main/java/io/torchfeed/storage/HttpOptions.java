// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.TimeLimit;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.util.Collections;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Options of {@link HttpSource}: headers, time limits and the client. Immutable.
 *
 * <p>{@code toString} has the names of the headers and not their values.
 */
public final class HttpOptions {
  private static final Duration STALL = Duration.ofSeconds(30);
  private static final Duration RETRY = Duration.ofMinutes(2);

  /** Headers that the source sets by itself, in lower case. */
  private static final Set<String> OWN =
      Set.of("range", "if-match", "if-unmodified-since", "if-range", "accept-encoding");

  private final Map<String, String> headers;
  private final Duration stallTimeout;
  private final Duration retryLimit;
  private final @Nullable HttpClient client;

  private HttpOptions(
      Map<String, String> headers,
      Duration stallTimeout,
      Duration retryLimit,
      @Nullable HttpClient client) {
    this.headers = headers;
    this.stallTimeout = stallTimeout;
    this.retryLimit = retryLimit;
    this.client = client;
  }

  /** The client of all sources without one of their own; it and its threads stay. */
  private static final class Shared {
    static final HttpClient CLIENT =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1) // a connection for each range
            .followRedirects(HttpClient.Redirect.NEVER)
            .build();
  }

  /**
   * Returns the options without headers, with 30 s for stalls, 2 minutes for retries, and a client
   * that all sources share. It connects through the proxy of the system properties {@code
   * http.proxyHost} and {@code https.proxyHost}.
   *
   * @return the options
   */
  public static HttpOptions defaults() {
    return new HttpOptions(Map.of(), STALL, RETRY, null);
  }

  /**
   * Adds a header to each request, such as {@code Authorization}. A redirect to another host does
   * not take it along.
   *
   * @param name the name of the header, without {@code Range}, {@code Accept-Encoding}, conditions,
   *     and the headers of the connection
   * @param value the value, in ISO 8859-1; it is in no message
   * @return a copy with the header; an earlier one of the same name is replaced
   * @throws IllegalArgumentException if the name is not allowed, or the value has other characters
   */
  public HttpOptions withHeader(String name, String value) {
    requireNonNull(name, "name");
    requireNonNull(value, "value");
    if (OWN.contains(name.toLowerCase(Locale.ROOT))) {
      throw new IllegalArgumentException(
          "name must not be a header that the source sets, got " + name);
    }
    HttpRequest.newBuilder(URI.create("http://localhost")).header(name, "any"); // checks the name
    if (!value.chars().allMatch(c -> c == '\t' || (c >= ' ' && c <= 0xFF && c != 0x7F))) {
      throw new IllegalArgumentException(
          "the value of %s must have characters of ISO 8859-1 and no line breaks".formatted(name));
    }
    Map<String, String> more = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    more.putAll(headers);
    more.put(name, value);
    return new HttpOptions(Collections.unmodifiableMap(more), stallTimeout, retryLimit, client);
  }

  /**
   * Sets how long a server may be silent, from the request to the first byte and between two bytes.
   * A silence is noticed at most after twice this time. The request is then sent again.
   *
   * @param timeout at least 1 ms
   * @return a copy with the timeout
   * @throws IllegalArgumentException if it is less than 1 ms
   */
  public HttpOptions withStallTimeout(Duration timeout) {
    return new HttpOptions(
        headers, TimeLimit.atLeastOneMilli("timeout", timeout), retryLimit, client);
  }

  /**
   * Sets how long a read is tried again after failures that may pass: a lost connection, a silent
   * server, and the answers 408, 429, 500, 502, 503 and 504. The waits between tries begin with 0.2
   * s, double up to 20 s, and are drawn between half of that and all of it; a longer {@code
   * Retry-After} of the server counts. A read that has got bytes returns them, and the next read
   * has all of the limit.
   *
   * <p>A source that has never got bytes gives up sooner: after 1 s if the host is unknown, and
   * after 5 s if no server accepts the connection, if TLS fails, or the server does not speak HTTP.
   *
   * @param limit at least 0, which means one try
   * @return a copy with the limit
   * @throws IllegalArgumentException if it is negative
   */
  public HttpOptions withRetryLimit(Duration limit) {
    return new HttpOptions(headers, stallTimeout, TimeLimit.notNegative("limit", limit), client);
  }

  /**
   * Sets the client, for a proxy, certificates or a limit for connecting.
   *
   * @param own borrowed; it must not follow redirects by itself, since it would send the headers to
   *     any host
   * @return a copy with the client
   * @throws IllegalArgumentException if it follows redirects
   */
  public HttpOptions withClient(HttpClient own) {
    requireNonNull(own, "own");
    if (own.followRedirects() != HttpClient.Redirect.NEVER) {
      throw new IllegalArgumentException(
          "the client must not follow redirects, got %s; the source follows them"
              .formatted(own.followRedirects()));
    }
    return new HttpOptions(headers, stallTimeout, retryLimit, own);
  }

  Map<String, String> headers() {
    return headers;
  }

  Duration stallTimeout() {
    return stallTimeout;
  }

  Duration retryLimit() {
    return retryLimit;
  }

  HttpClient client() {
    return client == null ? Shared.CLIENT : client;
  }

  @Override
  public String toString() {
    return "HttpOptions[headers=%s, stallTimeout=%s, retryLimit=%s]"
        .formatted(headers.keySet(), stallTimeout, retryLimit);
  }
}
