// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.s3;

import io.torchfeed.storage.HttpOptions;
import io.torchfeed.storage.S3Bucket;
import io.torchfeed.storage.S3Credentials;
import io.torchfeed.storage.S3Keys;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.time.Duration;
import org.gaul.s3proxy.AuthenticationType;
import org.gaul.s3proxy.S3Proxy;
import org.jclouds.ContextBuilder;
import org.jclouds.blobstore.BlobStore;
import org.jclouds.blobstore.BlobStoreContext;
import org.jclouds.blobstore.TransientApiMetadata;

/** S3Proxy on the loopback, with objects in memory. It checks signatures of version 4. */
final class S3Server implements AutoCloseable {
  static final String ID = "test-identity";
  static final String SECRET = "s3cr3t-credential";

  private static final String HOST = "s3.test";

  private final BlobStoreContext context;
  private final S3Proxy paths;
  private final S3Proxy hosts;

  private S3Server(BlobStoreContext context) {
    this.context = context;
    paths = started(builder().build());
    hosts = started(builder().virtualHost(HOST).build()); // it takes other hosts for buckets
  }

  static S3Server start() {
    ContextBuilder builder = ContextBuilder.newBuilder(new TransientApiMetadata());
    return new S3Server(builder.credentials(ID, SECRET).build(BlobStoreContext.class));
  }

  private S3Proxy.Builder builder() {
    return S3Proxy.builder()
        .blobStore(context.getBlobStore())
        .endpoint(URI.create("http://127.0.0.1:0"))
        .awsAuthentication(AuthenticationType.AWS_V4, ID, SECRET);
  }

  private static S3Proxy started(S3Proxy proxy) {
    try {
      proxy.start();
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
    return proxy;
  }

  /** Stores an object, in place of an earlier one. */
  void put(String bucket, String key, byte[] content) {
    BlobStore store = context.getBlobStore();
    store.createContainerInLocation(null, bucket);
    store.putBlob(
        bucket, store.blobBuilder(key).payload(content).contentLength(content.length).build());
  }

  /** Returns a bucket whose name is in the path of its addresses. */
  S3Bucket bucket(String name) {
    return S3Bucket.of(name)
        .withEndpoint(URI.create("http://127.0.0.1:" + paths.getPort()))
        .withCredentials(S3Credentials.of(S3Keys.of(ID, SECRET)))
        .withOptions(HttpOptions.defaults().withRetryLimit(Duration.ofSeconds(5)));
  }

  /** Returns a bucket whose name is in the host, which no name server knows. */
  S3Bucket virtualHost(String name) {
    InetSocketAddress here =
        new InetSocketAddress(InetAddress.getLoopbackAddress(), hosts.getPort());
    HttpClient client = HttpClient.newBuilder().proxy(ProxySelector.of(here)).build();
    return bucket(name)
        .withEndpoint(URI.create("http://" + HOST))
        .withPathStyle(false)
        .withOptions(HttpOptions.defaults().withClient(client));
  }

  @Override
  public void close() throws Exception {
    hosts.stop();
    paths.stop();
    context.close();
  }
}
