import en from '@cloudscape-design/components/i18n/messages/all.en';

export default en;
