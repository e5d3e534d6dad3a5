//! etcd's write-ahead log, read as etcd's own decoder reads it: whose it is stands in its first records.
//!
//! A log file begins with a checksum record, then one with the metadata: member id and cluster id. Each file repeats
//! them, so the oldest that is there will do.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use prost::Message;

use crate::member::{ClusterId, MemberId};

use super::pb::walpb::{Metadata, Record};

/// Where etcd keeps its log in a data directory.
const DIRECTORY: &str = "member/wal";

/// Longer than the first two records can be: a checksum, and two ids.
const RECORD_MAX: u64 = 1024;

const METADATA: i64 = 1;
const CHECKSUM: i64 = 4;

/// Why a log doesn't say whose it is.
#[derive(Debug, thiserror::Error)]
pub enum WalError {
    /// A file or directory can't be read.
    #[error("can't read {path}: {cause}", path = .path.display())]
    Unreadable {
        /// The file or directory.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// The directory has no log file.
    #[error("{} has no log file", .0.display())]
    NoFile(PathBuf),
    /// A file does not begin as a log does.
    #[error("{path} is no log of etcd's: {fault}", path = .path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: &'static str,
    },
}

/// Member and cluster of the log in a data directory; nothing where there is no log.
pub fn read(data: &Path) -> Result<Option<(MemberId, ClusterId)>, WalError> {
    let Some(files) = files(data)? else { return Ok(None) };
    let Some(file) = files.into_iter().next() else { return Err(WalError::NoFile(data.join(DIRECTORY))) };
    match metadata(open(&file)?) {
        Ok(ids) => Ok(Some(ids)),
        Err(fault) => Err(WalError::Damaged { path: file, fault }),
    }
}

pub(super) fn open(file: &Path) -> Result<File, WalError> {
    File::open(file).map_err(|cause| WalError::Unreadable { path: file.to_owned(), cause })
}

/// The log's files, the oldest first; nothing where there is no log.
pub(super) fn files(data: &Path) -> Result<Option<Vec<PathBuf>>, WalError> {
    let directory = data.join(DIRECTORY);
    let unreadable = |cause| WalError::Unreadable { path: directory.clone(), cause };
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.map_err(unreadable)?.path();
        if is_log(&path) {
            files.push(path);
        }
    }
    files.sort();
    Ok(Some(files))
}

/// `<sequence>-<index>.wal`, both 16 hexadecimal digits.
fn is_log(path: &Path) -> bool {
    let hexadecimal = |text: &str| text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let stem = path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.split_once('-'));
    path.extension().is_some_and(|extension| extension == "wal")
        && stem.is_some_and(|(sequence, index)| hexadecimal(sequence) && hexadecimal(index))
}

fn metadata(mut file: impl Read) -> Result<(MemberId, ClusterId), &'static str> {
    let first = record(&mut file, RECORD_MAX)?;
    if first.r#type != CHECKSUM {
        return Err("it doesn't begin with a checksum");
    }
    let second = record(&mut file, RECORD_MAX)?;
    if second.r#type != METADATA {
        return Err("its second record is not the metadata");
    }
    if second.crc != checksum(first.crc, &second.data) {
        return Err("the checksum of its metadata is wrong");
    }
    let Metadata { node_id, cluster_id } =
        Metadata::decode(second.data.as_slice()).map_err(|_| "its metadata is damaged")?;
    if node_id == 0 || cluster_id == 0 {
        return Err("its metadata has no ids");
    }
    Ok((MemberId(node_id), ClusterId(cluster_id)))
}

/// One record: its length in the lower 56 bits, whether it is padded in the uppermost, and by how much in the three
/// above the length. Beyond the last one a file holds zeros, which are none.
pub(super) fn record(file: &mut impl Read, longest: u64) -> Result<Record, &'static str> {
    const SHORT: &str = "it is cut off";
    let mut frame = [0; 8];
    file.read_exact(&mut frame).map_err(|_| SHORT)?;
    let frame = u64::from_le_bytes(frame);
    let length = frame & ((1 << 56) - 1);
    let padding = if frame >> 63 == 1 { (frame >> 56) & 0b111 } else { 0 };
    if length == 0 || length > longest {
        return Err("a record has an impossible length");
    }
    let mut bytes = Vec::new();
    file.take(length + padding).read_to_end(&mut bytes).map_err(|_| SHORT)?;
    let whole = usize::try_from(length + padding).is_ok_and(|expected| bytes.len() == expected);
    let content = usize::try_from(length).ok().and_then(|length| bytes.get(..length)).filter(|_| whole);
    Record::decode(content.ok_or(SHORT)?).map_err(|_| "a record is damaged")
}

/// CRC-32C, continued from `before`: bit by bit, for two dozen bytes.
fn checksum(before: u32, data: &[u8]) -> u32 {
    const CASTAGNOLI_REVERSED: u32 = 0x82f6_3b78;
    let fold = |crc: u32, _| (crc >> 1) ^ (CASTAGNOLI_REVERSED * (crc & 1));
    !data.iter().fold(!before, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), fold))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::agent) fn framed(record: &Record) -> Vec<u8> {
        let mut content = record.encode_to_vec();
        let length = content.len() as u64;
        let padding = (8 - length % 8) % 8;
        let mark = if padding == 0 { 0 } else { (0x80 | padding) << 56 };
        let mut bytes = (length | mark).to_le_bytes().to_vec();
        content.resize(content.len() + usize::try_from(padding).unwrap(), 0);
        bytes.extend(content);
        bytes
    }

    fn log(before: u32, metadata: &Metadata) -> Vec<u8> {
        let data = metadata.encode_to_vec();
        let crc = checksum(before, &data);
        let mut bytes = framed(&Record { r#type: CHECKSUM, crc: before, data: Vec::new() });
        bytes.extend(framed(&Record { r#type: METADATA, crc, data }));
        bytes.extend([0; 64]);
        bytes
    }

    const IDS: Metadata = Metadata { node_id: 0x9a44_a9dd_aae3_0810, cluster_id: 7 };

    fn in_directory(
        files: &[(&str, &[u8])],
    ) -> (tempfile::TempDir, Result<Option<(MemberId, ClusterId)>, WalError>) {
        let directory = tempfile::tempdir().unwrap();
        let wal = directory.path().join(DIRECTORY);
        fs::create_dir_all(&wal).unwrap();
        for (name, bytes) in files {
            fs::write(wal.join(name), bytes).unwrap();
        }
        let read = read(directory.path());
        (directory, read)
    }

    #[test]
    fn the_checksum_is_castagnolis() {
        assert_eq!(checksum(0, b"123456789"), 0xe306_9283);
        assert_eq!(checksum(checksum(0, b"1234"), b"56789"), 0xe306_9283);
    }

    #[test]
    fn the_oldest_log_says_whose_it_is() {
        let other = Metadata { node_id: 1, cluster_id: 1 };
        let (old, new) = (log(5, &IDS), log(0, &other));
        let files: [(&str, &[u8]); 3] = [
            ("0000000000000003-0000000000000021.wal", &new),
            ("0000000000000002-0000000000000011.wal", &old),
            ("0.tmp", b"being made"),
        ];
        let (_directory, read) = in_directory(&files);
        assert_eq!(read.unwrap(), Some((MemberId(IDS.node_id), ClusterId(7))));
    }

    #[test]
    fn no_log_is_no_error_and_an_empty_directory_is_one() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(read(directory.path()).unwrap(), None);
        let (_directory, read) = in_directory(&[("0.tmp", b"")]);
        assert!(matches!(read, Err(WalError::NoFile(_))));
    }

    #[test]
    fn damage_anywhere_is_told() {
        let whole = log(0, &IDS);
        let length = whole.len() - 64;
        for at in 0..length {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x11;
            if let Ok(ids) = metadata(bytes.as_slice()) {
                // Padding says nothing.
                assert_eq!(ids, (MemberId(IDS.node_id), ClusterId(7)), "byte {at}");
            }
        }
        for cut in 0..length - 8 {
            assert!(metadata(&whole[..cut]).is_err(), "cut at {cut}");
        }
        assert!(metadata([0_u8; 64].as_slice()).is_err());
    }
}
