// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.storage;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Failures;
import io.torchfeed.storage.ByteSourceException.Problem;
import java.io.IOException;
import java.net.URI;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;
import javax.xml.stream.XMLStreamException;
import org.jspecify.annotations.Nullable;

/**
 * A bucket of S3 or of a store with its protocol, such as MinIO. Immutable.
 *
 * <pre>{@code
 * S3Bucket bucket = S3Bucket.of("training-data").withRegion("eu-central-1");
 * for (S3Object object : bucket.list("2026/")) {
 *   try (ByteSource rows = ReadAhead.of(bucket.source(object.key()))) {
 *     rows.copyTo(Path.of("rows", object.key().replace('/', '-')));
 *   }
 * }
 * }</pre>
 *
 * <p>Requests are signed by Signature Version 4 for each try, with the code of the JDK alone; keys
 * and signatures are in no message and no {@code toString}.
 */
public final class S3Bucket {
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,254}");
  private static final Pattern REGION = Pattern.compile("[A-Za-z0-9-]{1,64}");
  private static final Pattern LABEL = Pattern.compile("[a-z0-9]([a-z0-9-]*[a-z0-9])?");
  private static final Pattern HOST = Pattern.compile("[a-z0-9]([a-z0-9.-]*[a-z0-9])?");
  private static final int MAX_PAGE_BYTES = 8 << 20;

  private final String name;
  private final String region;
  private final @Nullable URI endpoint;
  private final @Nullable Boolean isPathStyle;
  private final @Nullable S3Credentials credentials;
  private final HttpOptions options;

  private S3Bucket(
      String name,
      String region,
      @Nullable URI endpoint,
      @Nullable Boolean isPathStyle,
      @Nullable S3Credentials credentials,
      HttpOptions options) {
    this.name = name;
    this.region = region;
    this.endpoint = endpoint;
    this.isPathStyle = isPathStyle;
    this.credentials = credentials;
    this.options = options;
  }

  /**
   * Returns a bucket with the region of the variable {@code AWS_REGION}, {@code AWS_DEFAULT_REGION}
   * or {@code us-east-1}, the endpoint of {@code AWS_ENDPOINT_URL_S3}, {@code AWS_ENDPOINT_URL} or
   * of AWS, and {@link S3Credentials#ofEnvironment}.
   *
   * @param name the name of the bucket
   * @return the bucket; nothing is requested yet
   * @throws IllegalArgumentException if a name, a region or an endpoint is none
   */
  public static S3Bucket of(String name) {
    requireNonNull(name, "name");
    return of(name, System.getenv());
  }

  static S3Bucket of(String name, Map<String, String> variables) {
    if (!NAME.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "name must have 1 to 255 letters, digits, dots, dashes and underscores, got " + name);
    }
    String region =
        variables.getOrDefault(
            "AWS_REGION", variables.getOrDefault("AWS_DEFAULT_REGION", "us-east-1"));
    S3Bucket bucket =
        new S3Bucket(name, "", null, null, S3Credentials.ofEnvironment(), HttpOptions.defaults())
            .withRegion(region);
    String endpoint =
        variables.getOrDefault(
            "AWS_ENDPOINT_URL_S3", variables.getOrDefault("AWS_ENDPOINT_URL", ""));
    return endpoint.isEmpty() ? bucket : bucket.withEndpoint(URI.create(endpoint));
  }

  /**
   * Sets the region, which is part of signatures and of AWS's address.
   *
   * @param own for example {@code eu-central-1}
   * @return a copy with the region
   * @throws IllegalArgumentException if it has other characters than letters, digits and dashes
   */
  public S3Bucket withRegion(String own) {
    requireNonNull(own, "own");
    if (!REGION.matcher(own).matches()) {
      throw new IllegalArgumentException(
          "the region must have letters, digits and dashes only, got " + own);
    }
    return new S3Bucket(name, own, endpoint, isPathStyle, credentials, options);
  }

  /**
   * Sets the address of another store than AWS's.
   *
   * @param own with {@code http} or {@code https}, for example {@code https://minio:9000}; buckets
   *     follow its path, unless {@link #withPathStyle} says otherwise
   * @return a copy with the endpoint
   * @throws IllegalArgumentException if it is no such address, or has a user's name or a query
   */
  public S3Bucket withEndpoint(URI own) {
    requireNonNull(own, "own");
    if (!HttpPlace.isHttp(own) || own.getRawUserInfo() != null || own.getRawQuery() != null) {
      throw new IllegalArgumentException(
          "the endpoint must begin with http:// or https://, and have a host, no user and no query,"
              + " got one of host %s".formatted(own.getHost()));
    }
    return new S3Bucket(name, region, own, isPathStyle, credentials, options);
  }

  /**
   * Chooses where the name of the bucket stands.
   *
   * @param isPath true for {@code https://host/bucket/key}, the default for other stores and for
   *     names that are no label of a host; false for {@code https://bucket.host/key}
   * @return a copy with the choice
   * @throws IllegalArgumentException if it is false and the name cannot be part of a host
   */
  public S3Bucket withPathStyle(boolean isPath) {
    if (!isPath && !HOST.matcher(name).matches()) {
      throw new IllegalArgumentException(
          "isPath must be true for a name that cannot be part of a host, got false for " + name);
    }
    return new S3Bucket(name, region, endpoint, isPath, credentials, options);
  }

  /**
   * Sets where keys come from.
   *
   * @param own borrowed; asked by the threads that read
   * @return a copy with the credentials
   */
  public S3Bucket withCredentials(S3Credentials own) {
    requireNonNull(own, "own");
    return new S3Bucket(name, region, endpoint, isPathStyle, own, options);
  }

  /**
   * Requests without signatures, for public buckets.
   *
   * @return a copy without credentials
   */
  public S3Bucket withoutCredentials() {
    return new S3Bucket(name, region, endpoint, isPathStyle, null, options);
  }

  /**
   * Sets the options of the requests.
   *
   * @param own headers, limits and the client; headers that begin with {@code x-amz-} are signed
   * @return a copy with the options
   */
  public S3Bucket withOptions(HttpOptions own) {
    return new S3Bucket(
        name, region, endpoint, isPathStyle, credentials, requireNonNull(own, "own"));
  }

  /**
   * Returns an object. Nothing is requested yet. Its bytes are those that were stored, also if it
   * was stored with a {@code Content-Encoding}.
   *
   * @param key the name of the object
   * @return the source, named by bucket and key; the caller closes it
   * @throws IllegalArgumentException if the key is empty or has more than 1024 bytes
   */
  public HttpSource source(String key) {
    requireNonNull(key, "key");
    String encoded = AwsSignature.encoded(key, '/');
    if (key.isEmpty() || encoded.length() > 3 * 1024) {
      throw new IllegalArgumentException(
          "key must have 1 to 1024 bytes of UTF-8, got %d characters".formatted(key.length()));
    }
    HttpPlace place = new HttpPlace(address("/" + encoded, ""), this::headers);
    return HttpSource.ofStore(name + "/" + key, place, options);
  }

  /**
   * Lists objects: one request per 1000 of them.
   *
   * @param prefix the beginning of their keys; empty for all
   * @return the objects, in the order of the bytes of their keys
   * @throws ByteSourceException if the listing fails; it names bucket and prefix
   */
  public List<S3Object> list(String prefix) throws ByteSourceException {
    requireNonNull(prefix, "prefix");
    String listing = "the list of %s/%s".formatted(name, prefix);
    List<S3Object> objects = new ArrayList<>();
    @Nullable String token = null;
    do {
      StringBuilder query = new StringBuilder(); // in the order of the names
      if (token != null) {
        query.append("continuation-token=").append(AwsSignature.encoded(token, '~')).append('&');
      }
      query.append("encoding-type=url&list-type=2&prefix=");
      query.append(AwsSignature.encoded(prefix, '~'));
      byte[] page =
          HttpDocument.read(
              listing, address("/", query.toString()), this::headers, options, MAX_PAGE_BYTES);
      try {
        S3Listing parsed = S3Listing.parse(page);
        objects.addAll(parsed.objects());
        if (token != null && token.equals(parsed.next())) {
          throw new XMLStreamException("it repeats its continuation token");
        }
        token = parsed.next();
      } catch (XMLStreamException e) {
        String reason = "the store must answer with a ListBucketResult: " + Failures.reason(e);
        throw new ByteSourceException(listing, Problem.WRONG_ANSWER, 0, reason, e);
      }
    } while (token != null);
    return List.copyOf(objects);
  }

  /** Returns an address of the bucket. */
  URI address(String path, String query) {
    URI base =
        endpoint == null ? URI.create("https://s3.%s.amazonaws.com".formatted(region)) : endpoint;
    boolean isLabel = LABEL.matcher(name).matches();
    boolean isPath = isPathStyle == null ? endpoint != null || !isLabel : isPathStyle;
    String host = HttpPlace.host(base);
    String before = base.getRawPath() == null ? "" : base.getRawPath().replaceAll("/+$", "");
    return URI.create(
        "%s://%s%s%s%s"
            .formatted(
                base.getScheme(),
                isPath ? host : name + "." + host,
                before + (isPath ? "/" + name : ""),
                path,
                query.isEmpty() ? "" : "?" + query));
  }

  private Map<String, String> headers(URI uri) throws IOException {
    Map<String, String> headers = new HashMap<>(options.headers());
    if (credentials == null) {
      return headers;
    }
    Map<String, String> signed = new HashMap<>();
    options
        .headers()
        .forEach(
            (header, value) -> {
              if (header.toLowerCase(Locale.ROOT).startsWith("x-amz-")) {
                headers.remove(header);
                signed.put(header, value);
              }
            });
    headers.putAll(
        AwsSignature.headers(
            uri,
            requireNonNull(credentials.keys(), "the keys of the credentials"),
            region,
            Instant.now(),
            signed));
    return headers;
  }

  @Override
  public String toString() {
    return "S3Bucket[%s]".formatted(name);
  }
}
