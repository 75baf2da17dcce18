// SPDX-License-Identifier: Apache-2.0
/** Samplers, data loader and distributed training for libtorch on the JVM. */
module io.torchfeed {
  requires transitive org.bytedeco.pytorch;
  requires com.fasterxml.jackson.core;
  requires transitive java.net.http; // HttpSource
  requires java.xml; // S3Bucket
  requires jdk.jfr;
  requires jdk.unsupported; // signals, by reflection
  requires io.torchfeed.bindings;
  requires static com.github.luben.zstd_jni;
  requires static de.siegmar.fastcsv; // CsvFile
  requires static io.opentelemetry.api; // LoopMonitor.telemetry
  requires static java.desktop; // ImageDecoder.imageIo, SummaryWriter.image
  requires static org.bytedeco.cuda; // NvJpegDecoder
  requires static transitive org.jspecify;

  exports io.torchfeed;
  exports io.torchfeed.amp;
  exports io.torchfeed.checkpoint;
  exports io.torchfeed.compiled;
  exports io.torchfeed.data;
  exports io.torchfeed.data.loader;
  exports io.torchfeed.data.source;
  exports io.torchfeed.data.token;
  exports io.torchfeed.distributed;
  exports io.torchfeed.distributed.launch;
  exports io.torchfeed.distributed.membership;
  exports io.torchfeed.distributed.training;
  exports io.torchfeed.elastic;
  exports io.torchfeed.graph;
  exports io.torchfeed.image;
  exports io.torchfeed.memory;
  exports io.torchfeed.metric;
  exports io.torchfeed.sampler;
  exports io.torchfeed.sampler.balance;
  exports io.torchfeed.sampler.order;
  exports io.torchfeed.sampler.python;
  exports io.torchfeed.sampler.split;
  exports io.torchfeed.sampler.torch;
  exports io.torchfeed.storage;
  exports io.torchfeed.summary;
  exports io.torchfeed.table;
  exports io.torchfeed.text;
  exports io.torchfeed.trace;
  exports io.torchfeed.training;
}
